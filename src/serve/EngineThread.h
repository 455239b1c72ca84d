// SPDX-License-Identifier: Apache-2.0
//
// EngineThread: the one thread that works with the device. Requests run on threads of their own, where
// they tokenise, sample and write; what touches a sequence is handed to this thread and waited for.
//
// Rows that want their next token at the same time are decoded together (Sequence::decodeTogether); when
// some of the running streams are missing, the thread waits once, 250 us, for them. Decodes go before
// prefill; a prompt gets its turn in the time in which the streams sample, and at the latest after every
// fourth step. What a sequence computes never depends on the other ones: rows have the bits of an isolated
// run, and a prompt is cut at multiples of 512 tokens, whatever else goes on.
//
//   EngineThread engine(sequences);
//   PEWTER_TRY_VOID(engine.prefill(0, ids, cancelled));
//   PEWTER_TRY_VOID(engine.decode(0, token));
//
// Thread safe; one caller at a time per sequence.
#pragma once
#include "muse/Sequence.h"
#include <array>
#include <condition_variable>
#include <list>
#include <thread>

namespace pewter::serve {

class EngineThread {
public:
  static constexpr std::chrono::microseconds kRendezvous{250};
  static constexpr uint32_t kStepsPerTurn = 4; ///< Decode steps while a prompt waits.

  explicit EngineThread(std::vector<muse::Sequence *> sequences);
  ~EngineThread();
  EngineThread(const EngineThread &) = delete;
  EngineThread &operator=(const EngineThread &) = delete;

  /// Feeds tokens to sequence `slot`. `cancelled` is asked every now and then, on the caller's thread; a
  /// cancelled prefill gives a Timeout error and leaves the tokens of the finished chunks in the sequence.
  Result<void> prefill(uint32_t slot, std::span<const uint32_t> tokens, const std::function<bool()> &cancelled);
  Result<void> decode(uint32_t slot, uint32_t token);
  /// Anything else that touches a sequence.
  Result<void> call(uint32_t slot, const std::function<Result<void>(muse::Sequence &)> &work);

  /// While one lives, the slot is expected to ask for its next token soon.
  class Stream {
  public:
    Stream(EngineThread &engine, uint32_t slot) : engine_(engine), slot_(slot) { engine_.expect(slot_, true); }
    ~Stream() { engine_.expect(slot_, false); }
    Stream(const Stream &) = delete;
    Stream &operator=(const Stream &) = delete;

  private:
    EngineThread &engine_;
    uint32_t slot_;
  };

  struct Statistics {
    std::array<uint64_t, muse::Sequence::kMaxTogether> steps{}; ///< By width - 1.
    uint64_t prefillTokens = 0, prefillChunks = 0;
    double decodeSeconds = 0, prefillSeconds = 0;
    double lastStepSeconds = 0, longestStreamWait = 0; ///< The latter: between two steps, for a prompt's chunk.
  };
  Statistics statistics() const;
  /// For five seconds, now and then a step of a lone row is timed group by group.
  void watch();
  /// The groups of the last step that was timed.
  std::vector<muse::PhaseSample> lastTimeline() const;

private:
  enum class Kind { Decode, Prefill, Call };
  struct Job {
    Kind kind;
    uint32_t slot;
    uint32_t token = 0;
    std::span<const uint32_t> tokens = {};
    const std::function<Result<void>(muse::Sequence &)> *work = nullptr;
    bool cancel = false;
    std::optional<Result<void>> result = {};
    std::condition_variable done = {};
  };

  void expect(uint32_t slot, bool decoding);
  Result<void> submit(Job &job, const std::function<bool()> *cancelled);
  void run();
  bool runCalls(std::unique_lock<std::mutex> &lock);
  bool runDecodes(std::unique_lock<std::mutex> &lock);
  bool runPrefill(std::unique_lock<std::mutex> &lock);
  size_t waiting(Kind kind) const;
  void finish(Job &job, Result<void> result);

  std::vector<muse::Sequence *> sequences_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Job *> jobs_; ///< In the order in which they came.
  std::array<bool, muse::Sequence::kMaxTogether> decoding_{};
  uint32_t stepsSincePrefill_ = 0;
  bool stopping_ = false;
  Statistics statistics_;
  std::vector<muse::PhaseSample> timeline_;
  std::chrono::steady_clock::time_point watchedUntil_{}, timedAt_{};
  std::thread thread_;
};

} // namespace pewter::serve
