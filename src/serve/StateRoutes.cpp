// SPDX-License-Identifier: Apache-2.0
//
// Routes that tell what the server is and does, and those that keep a slot's session.
//
// Tested by tests/serve/Telemetry.cpp and tests/serve/Sessions.cpp.
#include "base/MemoryBandwidth.h"
#include "serve/CompletionRequest.h"
#include "serve/Service.h"
#include "serve/SessionFile.h"
#include <thread>

namespace pewter::serve {
namespace {

/// Bytes of weights that one decode step reads: all matrices but the embedding, of which it takes a row.
uint64_t weightBytesPerStep(const muse::Engine &engine) {
  uint64_t bytes = 0;
  for (const muse::GgufTensor &tensor : engine.model().tensors())
    bytes += engine.model().dataOf(tensor).size();
  const muse::GgufTensor *embedding = engine.model().findTensor("token_embd.weight");
  if (embedding && engine.model().findTensor("output.weight"))
    bytes -= engine.model().dataOf(*embedding).size();
  return bytes;
}

} // namespace

HttpReply Service::props(const HttpRequest &) {
  const muse::Tokenizer &tokenizer = engine_->tokenizer();
  const muse::GgufValue *text = engine_->model().find("tokenizer.chat_template");
  auto spelled = [&](std::optional<uint32_t> id) { return id ? tokenizer.bytesOf(*id) : std::string(); };
  return jsonReply(
      {{"default_generation_settings",
        {{"n_ctx", pool_->slots()[0]->sequence->maxContext()},
         {"params", samplerJson(options_.defaults)}}},
       {"total_slots", pool_->slots().size()},
       {"model_alias", modelName_},
       {"model_path", engine_->model().label()},
       {"chat_template", text ? std::string(text->asString().value_or("")) : std::string()},
       {"bos_token", spelled(tokenizer.bos())},
       {"eos_token", tokenizer.endOfGeneration().empty() ? "" : spelled(tokenizer.endOfGeneration()[0])},
       {"device", engine_->context().deviceName()},
       {"lenient", options_.lenient},
       {"build_info", "pewter"}});
}

HttpReply Service::applyTemplate(const HttpRequest &request) {
  auto body = parseJson(request.body);
  if (!body)
    return errorReply(body.error());
  auto read = readChatRequest(*body, reading());
  if (!read)
    return errorReply(read.error());
  if (!chat_)
    return errorReply({400, noChat_});
  auto prompt = chat_->render(read->messages, /*addGenerationPrompt=*/true);
  return prompt ? jsonReply({{"prompt", *prompt}}) : errorReply(prompt.error());
}

HttpReply Service::slots(const HttpRequest &) {
  Json list = Json::array();
  for (const auto &slot : pool_->slots()) {
    SlotState state = slot->state;
    list.push_back({{"id", slot->id},
                    {"id_task", slot->request.load()},
                    {"n_ctx", slot->sequence->maxContext()},
                    {"is_processing", state != SlotState::Idle},
                    {"state", std::string(nameOf(state))},
                    {"prompt_tokens", slot->promptTokens.load()},
                    {"prompt_done", slot->promptDone.load()},
                    {"decoded", slot->decoded.load()},
                    {"position", slot->position.load()},
                    {"tokens_per_second", slot->tokensPerSecond.load()}});
  }
  return jsonReply(list);
}

Metrics::Now Service::measureNow() const {
  Metrics::Now now;
  double rows = 0, room = 0;
  for (const auto &slot : pool_->slots()) {
    now.busySlots += slot->state != SlotState::Idle;
    rows += slot->position;
    room += slot->sequence->maxContext();
  }
  now.slots = static_cast<double>(pool_->slots().size());
  now.waiting = static_cast<double>(pool_->waiters());
  now.overloads = pool_->overloads();
  now.cacheFill = room > 0 ? rows / room : 0;
  now.unhealthy = pool_->unhealthy().has_value();
  now.engine = thread_->statistics();
  return now;
}

HttpReply Service::metricsText(const HttpRequest &) {
  return {.contentType = "text/plain; version=0.0.4; charset=utf-8", .body = metrics_.text(measureNow())};
}

HttpReply Service::telemetry(const HttpRequest &request) {
  thread_->watch();
  Metrics::Now now = measureNow();
  Json out;
  out["model"] = modelName_;
  out["device"] = engine_->context().deviceName();
  out["slots"] = parseJson(slots(request).body).value_or(Json::array());
  out["queue"] = now.waiting;
  out["cache_fill"] = now.cacheFill;
  out["steps"] = now.engine.steps;
  double step = now.engine.lastStepSeconds;
  auto bytes = static_cast<double>(weightBytesPerStep(*engine_));
  out["step_milliseconds"] = step * 1e3;
  out["step_gigabytes"] = bytes / 1e9;
  out["gigabytes_per_second"] = step > 0 ? bytes / step / 1e9 : 0;
  // Only where the weights lie in this machine's memory.
  if (engine_->context().geometry() == muse::Geometry::Cpu) {
    static const double limit = measureReadBandwidth(std::thread::hardware_concurrency());
    out["limit_gigabytes_per_second"] = limit / 1e9;
  }
  Json &timeline = out["timeline"] = Json::array();
  for (const muse::PhaseSample &sample : thread_->lastTimeline())
    timeline.push_back({{"label", sample.label}, {"layer", sample.layer}, {"start", sample.start}, {"end", sample.end}});
  return jsonReply(out);
}

HttpReply Service::slotAction(const HttpRequest &request) {
  std::string number = request.path.substr(std::string("/slots/").size());
  if (number.empty() || number.size() > 4 || number.find_first_not_of("0123456789") != number.npos)
    return errorReply({404, fmt::format("There is no slot [{}].", number)});
  auto wanted = static_cast<uint32_t>(std::stoul(number));
  auto action = request.query.find("action");
  std::string what = action == request.query.end() ? "" : action->second;
  if (what != "save" && what != "restore" && what != "erase")
    return errorReply({400, fmt::format("The action is [{}]; save, restore or erase is expected.", what)});
  auto body = parseJson(request.body.empty() ? "{}" : request.body);
  if (!body)
    return errorReply(body.error());
  Fields fields(*body, "", options_.lenient);
  std::string name = fields.string("filename", "");
  if (auto read = fields.finish(); !read)
    return errorReply(read.error());
  if (what != "erase") {
    if (options_.sessionFolder.empty())
      return errorReply({501, "The server was started without --slot-save-path, so it keeps no sessions."});
    if (auto checked = checkSessionName(name); !checked)
      return errorReply(checked.error());
  }
  if (stopping_)
    return errorReply({503, "The server is stopping."});
  auto lease = pool_->acquire({}, wanted, request.clientGone);
  if (!lease)
    return errorReply(lease.error());
  Slot &slot = **lease;
  auto start = std::chrono::steady_clock::now();
  std::filesystem::path path = std::filesystem::path(options_.sessionFolder) / name;
  Json out = {{"id_slot", slot.id}};
  Result<void> done;
  if (what == "save") {
    SessionFile session{.identity = identity_, .exactRows = slot.exactRows, .snapshot = {}};
    done = thread_->call(slot.id, [&](muse::Sequence &sequence) -> Result<void> {
      session.snapshot = sequence.save();
      return {};
    });
    if (done)
      done = writeSession(path, session);
    out["filename"] = name;
    out["n_saved"] = slot.sequence->position();
    out["n_written"] = session.snapshot.size();
  } else if (what == "restore") {
    auto session = readSession(path, identity_);
    if (!session)
      return errorReply({session.error().kind() == ErrorKind::Io ? 404 : 409, session.error().message()});
    done = thread_->call(slot.id, [&](muse::Sequence &sequence) { return sequence.restore(session->snapshot); });
    if (!done)
      return errorReply({409, done.error().message()}); // it was left as it was
    slot.exactRows = std::min(session->exactRows, slot.sequence->position());
    slot.position = slot.sequence->position();
    out["filename"] = name;
    out["n_restored"] = slot.sequence->position();
    out["n_read"] = session->snapshot.size();
  } else {
    out["n_erased"] = slot.sequence->position();
    done = thread_->call(slot.id, [&](muse::Sequence &sequence) -> Result<void> {
      sequence.reset();
      return {};
    });
    slot.exactRows = 0;
    slot.position = 0;
  }
  if (!done)
    return errorReply(done.error());
  out["timings"] = {{what + "_ms", std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() * 1e3}};
  return jsonReply(out);
}

} // namespace pewter::serve
