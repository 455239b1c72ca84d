// SPDX-License-Identifier: Apache-2.0
//
// Service: what stands behind the HTTP routes: the engine and its thread, the slots, the tokenizer and the
// chat template, who may ask, and the routes themselves.
//
//   PEWTER_TRY(auto service, Service::create(engine, {.slots = 4}));
//   PEWTER_TRY(auto http, HttpServer::create(options, service->handlers()));
//
// Thread safe after create.
#pragma once
#include "muse/ChatTemplate.h"
#include "serve/Completion.h"
#include "serve/Http.h"
#include "serve/HttpServer.h"
#include "serve/Metrics.h"

namespace pewter::serve {

struct ServiceOptions {
  uint32_t slots = 4;
  uint32_t context = 0;                         ///< Per slot; 0 takes the engine's.
  bool lenient = false;
  std::vector<std::string> apiKeys = {};        ///< None: anybody may ask.
  std::string alias = {};                       ///< The model's name for clients; "" is its own.
  std::chrono::milliseconds patience{30'000};   ///< How long a request waits for a slot.
  std::chrono::milliseconds requestTime{600'000}; ///< How long an answer may take.
  std::string sessionFolder = {};               ///< "": sessions are not kept.
  muse::SamplerOptions defaults = {};
};

class Service {
public:
  static Result<std::unique_ptr<Service>> create(std::shared_ptr<muse::Engine> engine, ServiceOptions options);

  HttpHandlers handlers();
  /// New generations are refused; those that run go on.
  void beginStop() { stopping_ = true; }
  /// Those that run end at their next token.
  void cancelAll() { cancelling_ = true; }

private:
  using Route = HttpReply (Service::*)(const HttpRequest &);
  struct RouteEntry {
    const char *method, *path;
    Route route;
    bool open; ///< Needs no key.
  };
  static const std::vector<RouteEntry> &routes();

  Service() = default;
  std::optional<HttpReply> admit(const HttpRequest &request);
  HttpReply handle(const HttpRequest &request);
  const RouteEntry *find(const HttpRequest &request) const;
  bool hasKey(const HttpRequest &request) const;

  // General.
  HttpReply health(const HttpRequest &);
  HttpReply models(const HttpRequest &);
  HttpReply tokenize(const HttpRequest &);
  HttpReply detokenize(const HttpRequest &);
  // OpenAI's (OpenAiRoutes.cpp).
  HttpReply chatCompletions(const HttpRequest &);
  HttpReply completions(const HttpRequest &);
  // llama.cpp's (LlamaRoutes.cpp).
  HttpReply llamaCompletion(const HttpRequest &);
  // The server's state (StateRoutes.cpp).
  HttpReply props(const HttpRequest &);
  HttpReply applyTemplate(const HttpRequest &);
  HttpReply slots(const HttpRequest &);
  HttpReply slotAction(const HttpRequest &);
  HttpReply metricsText(const HttpRequest &);
  HttpReply telemetry(const HttpRequest &);
  HttpReply page(const HttpRequest &);
  Metrics::Now measureNow() const;

  /// A request's hold on a slot, had before the reply begins, so that having none is a status of its own.
  struct Ticket {
    SlotPool::Lease lease;
    std::chrono::steady_clock::time_point arrived;
    double queued = 0; ///< Seconds.
    std::function<bool()> clientGone;
  };
  /// One choice of one prompt.
  struct Work {
    std::shared_ptr<const CompletionSettings> settings;
    std::vector<uint32_t> prompt;
    bool chat = false;
    uint32_t choice = 0;
  };
  Answer<std::shared_ptr<Ticket>> takeSlot(const Work &first, const std::function<bool()> &clientGone);
  Answer<CompletionResult> perform(Ticket &ticket, const Work &work, const std::function<bool(const Piece &)> &onPiece);
  /// Whether a request has run out of time, or must end because the server does.
  bool mustEnd(const Ticket &ticket) const;
  Answer<void> checkPrompt(std::span<const uint32_t> prompt) const;
  void findAnswerHead();
  Answer<std::vector<uint32_t>> idsOf(const Prompt &prompt) const;
  ReadingOptions reading() const;

  std::shared_ptr<muse::Engine> engine_;
  ServiceOptions options_;
  std::optional<muse::ChatTemplate> chat_;
  std::string noChat_;                           ///< Why there is no template.
  std::vector<uint32_t> answerHead_;             ///< What the template puts between a prompt and an answer's text.
  std::optional<TokenOrder> order_;
  std::string modelName_;
  int64_t started_ = 0;
  std::unique_ptr<SlotPool> pool_;
  std::unique_ptr<EngineThread> thread_;         ///< Ends before the pool.
  Json identity_;                                ///< Of sessions.
  Metrics metrics_;
  std::atomic<uint64_t> requests_ = 0;
  std::atomic<bool> stopping_ = false, cancelling_ = false;
};

/// {"error": {...}} as OpenAI's clients read it.
HttpReply errorReply(const Refusal &refusal);
HttpReply jsonReply(const Json &value);
/// "prefix-" and 24 random letters.
std::string randomId(std::string_view prefix);

} // namespace pewter::serve
