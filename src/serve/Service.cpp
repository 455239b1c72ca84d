// SPDX-License-Identifier: Apache-2.0
// Tested by tests/serve/Routes.cpp.
#include "serve/Service.h"
#include "serve/SessionFile.h"
#include <algorithm>
#include <ctime>
#include <random>

namespace pewter::serve {
namespace {

std::string errorBody(int status, std::string_view message) {
  Refusal refusal(status, std::string(message));
  return dumpJson({{"error",
                    {{"message", refusal.message}, {"type", refusal.type()}, {"param", nullptr}, {"code", status}}}});
}

/// A route's path may end in "*".
bool matches(std::string_view route, std::string_view path) {
  return route.ends_with('*') ? path.starts_with(route.substr(0, route.size() - 1)) : path == route;
}

/// Takes the same time wherever the texts differ.
bool sameSecret(std::string_view a, std::string_view b) {
  unsigned different = a.size() != b.size();
  for (size_t i = 0; i < a.size(); ++i)
    different |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b.empty() ? 0 : b[i % b.size()]);
  return different == 0;
}

} // namespace

HttpReply errorReply(const Refusal &refusal) {
  HttpReply reply{.status = refusal.status, .body = errorBody(refusal.status, refusal.message)};
  if (refusal.status == 429 || refusal.status == 503)
    reply.headers.emplace_back("Retry-After", "1");
  if (refusal.status == 401)
    reply.headers.emplace_back("WWW-Authenticate", "Bearer");
  return reply;
}

HttpReply jsonReply(const Json &value) { return {.body = dumpJson(value)}; }

std::string randomId(std::string_view prefix) {
  static constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  thread_local std::mt19937_64 random{std::random_device{}()};
  std::string id(prefix);
  for (int i = 0; i < 24; ++i)
    id += kLetters[random() % kLetters.size()];
  return id;
}

const std::vector<Service::RouteEntry> &Service::routes() {
  static const std::vector<RouteEntry> all = {
      {"GET", "/health", &Service::health, true},
      {"GET", "/v1/health", &Service::health, true},
      {"GET", "/v1/models", &Service::models, false},
      {"GET", "/models", &Service::models, false},
      {"POST", "/v1/chat/completions", &Service::chatCompletions, false},
      {"POST", "/chat/completions", &Service::chatCompletions, false},
      {"POST", "/v1/completions", &Service::completions, false},
      {"POST", "/completion", &Service::llamaCompletion, false},
      {"POST", "/completions", &Service::llamaCompletion, false},
      {"GET", "/props", &Service::props, false},
      {"GET", "/slots", &Service::slots, false},
      {"POST", "/slots/*", &Service::slotAction, false},
      {"POST", "/apply-template", &Service::applyTemplate, false},
      {"GET", "/metrics", &Service::metricsText, false},
      {"GET", "/telemetry", &Service::telemetry, false},
      {"GET", "/", &Service::page, true},
      {"POST", "/tokenize", &Service::tokenize, false},
      {"POST", "/detokenize", &Service::detokenize, false},
  };
  return all;
}

Result<std::unique_ptr<Service>> Service::create(std::shared_ptr<muse::Engine> engine, ServiceOptions options) {
  auto service = std::unique_ptr<Service>(new Service);
  service->engine_ = std::move(engine);
  service->options_ = std::move(options);
  const muse::Engine &e = *service->engine_;
  service->modelName_ = service->options_.alias.empty() ? e.config().name : service->options_.alias;
  service->started_ = std::time(nullptr);
  if (auto chat = muse::ChatTemplate::load(e.model()))
    service->chat_ = std::move(*chat);
  else
    service->noChat_ = chat.error().message();
  service->findAnswerHead();
  service->order_.emplace(e.tokenizer());
  PEWTER_TRY(service->pool_, SlotPool::create(service->engine_, service->options_.slots, service->options_.context,
                                              service->options_.patience));
  std::vector<muse::Sequence *> sequences;
  for (const auto &slot : service->pool_->slots())
    sequences.push_back(slot->sequence.get());
  service->thread_ = std::make_unique<EngineThread>(std::move(sequences));
  service->identity_ = sessionIdentity(e);
  if (!service->options_.sessionFolder.empty()) {
    if (!std::filesystem::is_directory(service->options_.sessionFolder))
      return fail(ErrorKind::Io, "The folder for sessions [{}] is none; an existing folder is expected.",
                  service->options_.sessionFolder);
    removeUnfinishedSessions(service->options_.sessionFolder);
  }
  return service;
}

/// A model may begin an answer with a head that names its recipient. An answer that has to follow a grammar
/// begins behind the head that the template gives to earlier answers.
void Service::findAnswerHead() {
  if (!chat_)
    return;
  static constexpr const char *kMark = "@text@";
  Json messages = Json::array({{{"role", "user"}, {"content", "x"}}});
  auto prompt = chat_->render(messages, /*addGenerationPrompt=*/true);
  messages.push_back({{"role", "assistant"}, {"content", kMark}});
  auto whole = chat_->render(messages, /*addGenerationPrompt=*/false);
  if (!prompt || !whole || !whole->starts_with(*prompt))
    return;
  size_t mark = whole->find(kMark, prompt->size());
  if (mark == whole->npos)
    return;
  auto ids = engine_->tokenizer().encode(whole->substr(prompt->size(), mark - prompt->size()), muse::Specials::All);
  if (ids)
    answerHead_ = std::move(*ids);
}

HttpHandlers Service::handlers() {
  return {.admit = [this](const HttpRequest &request) { return admit(request); },
          .handle = [this](const HttpRequest &request) { return handle(request); },
          .errorBody = errorBody};
}

const Service::RouteEntry *Service::find(const HttpRequest &request) const {
  for (const RouteEntry &entry : routes())
    if (matches(entry.path, request.path) && (request.method == entry.method || (request.method == "HEAD" && std::string_view(entry.method) == "GET")))
      return &entry;
  return nullptr;
}

bool Service::hasKey(const HttpRequest &request) const {
  std::string given = request.header("authorization");
  if (given.size() > 7 && std::ranges::equal(given.substr(0, 7), std::string_view("bearer "),
                                             [](unsigned char a, char b) { return std::tolower(a) == b; }))
    given.erase(0, 7);
  else
    given = request.header("x-api-key");
  bool found = false;
  for (const std::string &key : options_.apiKeys)
    found |= sameSecret(given, key);
  return found;
}

std::optional<HttpReply> Service::admit(const HttpRequest &request) {
  const RouteEntry *entry = find(request);
  if (!options_.apiKeys.empty() && !(entry && entry->open) && !hasKey(request))
    return errorReply({401, "The request has no API key that the server knows. \"Authorization: Bearer KEY\" is expected."});
  if (!entry) {
    bool otherMethod = std::ranges::any_of(routes(), [&](const RouteEntry &each) { return matches(each.path, request.path); });
    return errorReply({otherMethod ? 405 : 404,
                       fmt::format("There is no route [{} {}].", request.method, request.path)});
  }
  if (request.method != "POST")
    return std::nullopt;
  std::string type = request.header("content-type");
  type = type.substr(0, type.find(';'));
  while (!type.empty() && type.back() == ' ')
    type.pop_back();
  std::ranges::transform(type, type.begin(), [](unsigned char c) { return std::tolower(c); });
  if (type != "application/json")
    return errorReply({415, fmt::format("The content type is [{}]; application/json is expected.", type)});
  if (std::string encoding = request.header("content-encoding"); !encoding.empty() && encoding != "identity")
    return errorReply({415, fmt::format("The content encoding is [{}]; none is expected.", encoding)});
  return std::nullopt;
}

HttpReply Service::handle(const HttpRequest &request) {
  const RouteEntry *entry = find(request);
  HttpReply reply = (this->*entry->route)(request);
  metrics_.answered(entry->path, reply.status);
  return reply;
}

HttpReply Service::health(const HttpRequest &) {
  if (auto reason = pool_->unhealthy())
    return errorReply({503, "The server is unhealthy and has to be started again: " + *reason});
  if (stopping_)
    return errorReply({503, "The server is stopping."});
  return jsonReply({{"status", "ok"}});
}

HttpReply Service::models(const HttpRequest &) {
  const muse::ModelConfig &c = engine_->config();
  uint64_t parameters = 0;
  for (const muse::GgufTensor &tensor : engine_->model().tensors()) {
    uint64_t count = 1;
    for (uint64_t dim : tensor.dims)
      count *= dim;
    parameters += count;
  }
  Json meta = {{"n_vocab", c.vocab},  {"n_ctx_train", c.context},  {"n_ctx", pool_->slots()[0]->sequence->maxContext()},
               {"n_embd", c.hidden}, {"n_params", parameters}, {"size", engine_->model().fileBytes()}};
  return jsonReply({{"object", "list"},
                    {"data", Json::array({{{"id", modelName_},
                                           {"object", "model"},
                                           {"created", started_},
                                           {"owned_by", "pewter"},
                                           {"meta", std::move(meta)}}})}});
}

HttpReply Service::tokenize(const HttpRequest &request) {
  auto body = parseJson(request.body);
  if (!body)
    return errorReply(body.error());
  Fields fields(*body, "", options_.lenient);
  std::string content = fields.string("content", "");
  bool bos = fields.boolean("add_special", false), special = fields.boolean("parse_special", true),
       pieces = fields.boolean("with_pieces", false);
  if (auto read = fields.finish(); !read)
    return errorReply(read.error());
  const muse::Tokenizer &tokenizer = engine_->tokenizer();
  auto ids = tokenizer.encode(content, special ? muse::Specials::All : muse::Specials::None);
  if (!ids)
    return errorReply(ids.error());
  if (bos && tokenizer.addsBos())
    ids->insert(ids->begin(), *tokenizer.bos());
  if (!pieces)
    return jsonReply({{"tokens", *ids}});
  Json list = Json::array();
  for (uint32_t id : *ids)
    list.push_back({{"id", id}, {"piece", tokenizer.bytesOf(id)}});
  return jsonReply({{"tokens", std::move(list)}});
}

HttpReply Service::detokenize(const HttpRequest &request) {
  auto body = parseJson(request.body);
  if (!body)
    return errorReply(body.error());
  Fields fields(*body, "", options_.lenient);
  const Json *tokens = fields.find("tokens");
  const muse::Tokenizer &tokenizer = engine_->tokenizer();
  std::string text;
  if (!tokens || !tokens->is_array())
    fields.complain(Error(ErrorKind::Validation, "Field \"tokens\" is missing or no list; a list of token ids is expected."));
  else
    for (const Json &id : *tokens) {
      if (!id.is_number_integer() || id < 0 || id >= tokenizer.size())
        return errorReply({400, fmt::format("Field \"tokens\" has [{}]; a token id below {} is expected.",
                                            dumpJson(id), tokenizer.size())});
      text += tokenizer.bytesOf(id.get<uint32_t>());
    }
  if (auto read = fields.finish(); !read)
    return errorReply(read.error());
  return jsonReply({{"content", text}});
}

ReadingOptions Service::reading() const {
  return {.lenient = options_.lenient, .defaults = options_.defaults, .vocabulary = engine_->config().vocab};
}

Answer<std::vector<uint32_t>> Service::idsOf(const Prompt &prompt) const {
  if (const auto *given = std::get_if<std::vector<uint32_t>>(&prompt))
    return *given;
  const muse::Tokenizer &tokenizer = engine_->tokenizer();
  PEWTER_TRY(auto ids, tokenizer.encode(std::get<std::string>(prompt), muse::Specials::All));
  if (tokenizer.addsBos() && (ids.empty() || ids[0] != *tokenizer.bos()))
    ids.insert(ids.begin(), *tokenizer.bos());
  return ids;
}

Answer<void> Service::checkPrompt(std::span<const uint32_t> prompt) const {
  uint32_t room = pool_->slots()[0]->sequence->maxContext();
  if (prompt.empty())
    return refuse(400, "The prompt has no tokens.");
  if (prompt.size() > room)
    return refuse(400, "The prompt has [{}] tokens; the context has room for {}.", prompt.size(), room);
  return {};
}

Answer<std::shared_ptr<Service::Ticket>> Service::takeSlot(const Work &first, const std::function<bool()> &clientGone) {
  if (stopping_)
    return refuse(503, "The server is stopping.");
  auto arrived = std::chrono::steady_clock::now();
  PEWTER_TRY(auto lease, pool_->acquire(first.prompt, first.settings->slot,
                                        [&] { return cancelling_ || clientGone(); }));
  double queued = std::chrono::duration<double>(std::chrono::steady_clock::now() - arrived).count();
  lease->request = ++requests_;
  return std::make_shared<Ticket>(std::move(lease), arrived, queued, clientGone);
}

bool Service::mustEnd(const Ticket &ticket) const {
  return cancelling_ || std::chrono::steady_clock::now() - ticket.arrived > options_.requestTime;
}

Answer<CompletionResult> Service::perform(Ticket &ticket, const Work &work,
                                          const std::function<bool(const Piece &)> &onPiece) {
  auto result = complete(*thread_, *ticket.lease,
                         {.settings = *work.settings,
                          .prompt = work.prompt,
                          .chat = work.chat,
                          .choice = work.choice,
                          .order = &*order_,
                          .clientGone = [&] { return mustEnd(ticket) || ticket.clientGone(); },
                          .onPiece = onPiece});
  if (!result) {
    if (result.error().status >= 500)
      pool_->becomeUnhealthy(result.error().message);
    return result;
  }
  result->times.queue = ticket.queued;
  metrics_.completed(*result);
  if (result->finish == Finish::ClientLeft && !ticket.clientGone() && mustEnd(ticket)) {
    if (cancelling_)
      return refuse(503, "The server is stopping.");
    return refuse(504, "The answer took longer than [{}] ms.", options_.requestTime.count());
  }
  return result;
}

} // namespace pewter::serve
