// SPDX-License-Identifier: Apache-2.0
// Tested by tests/serve/Exactness.cpp.
#include "serve/EngineThread.h"
#include <algorithm>

namespace pewter::serve {
namespace {

using Clock = std::chrono::steady_clock;
double secondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

} // namespace

EngineThread::EngineThread(std::vector<muse::Sequence *> sequences)
    : sequences_(std::move(sequences)), thread_([this] { run(); }) {}

EngineThread::~EngineThread() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void EngineThread::expect(uint32_t slot, bool decoding) {
  {
    std::lock_guard lock(mutex_);
    decoding_[slot] = decoding;
  }
  changed_.notify_all();
}

EngineThread::Statistics EngineThread::statistics() const {
  std::lock_guard lock(mutex_);
  return statistics_;
}

void EngineThread::watch() {
  std::lock_guard lock(mutex_);
  watchedUntil_ = Clock::now() + std::chrono::seconds(5);
}

std::vector<muse::PhaseSample> EngineThread::lastTimeline() const {
  std::lock_guard lock(mutex_);
  return timeline_;
}

Result<void> EngineThread::submit(Job &job, const std::function<bool()> *cancelled) {
  std::unique_lock lock(mutex_);
  if (stopping_)
    return fail(ErrorKind::Timeout, "The engine is stopping.");
  jobs_.push_back(&job);
  changed_.notify_all();
  while (!job.result) {
    if (!cancelled) {
      job.done.wait(lock);
    } else if (job.done.wait_for(lock, std::chrono::milliseconds(20)) == std::cv_status::timeout && !job.cancel) {
      lock.unlock();
      bool gone = (*cancelled)();
      lock.lock();
      job.cancel = gone;
    }
  }
  return std::move(*job.result);
}

Result<void> EngineThread::prefill(uint32_t slot, std::span<const uint32_t> tokens,
                                   const std::function<bool()> &cancelled) {
  Job job{.kind = Kind::Prefill, .slot = slot, .tokens = tokens};
  return submit(job, &cancelled);
}
Result<void> EngineThread::decode(uint32_t slot, uint32_t token) {
  Job job{.kind = Kind::Decode, .slot = slot, .token = token};
  return submit(job, nullptr);
}
Result<void> EngineThread::call(uint32_t slot, const std::function<Result<void>(muse::Sequence &)> &work) {
  Job job{.kind = Kind::Call, .slot = slot, .work = &work};
  return submit(job, nullptr);
}

void EngineThread::finish(Job &job, Result<void> result) {
  jobs_.remove(&job);
  job.result = std::move(result);
  job.done.notify_all(); // under the lock: the job lives on its caller's stack
}

size_t EngineThread::waiting(Kind kind) const {
  return static_cast<size_t>(std::ranges::count(jobs_, kind, &Job::kind));
}

void EngineThread::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stopping_ || !jobs_.empty(); });
    if (stopping_) {
      while (!jobs_.empty())
        finish(*jobs_.front(), fail(ErrorKind::Timeout, "The engine is stopping."));
      return;
    }
    if (runCalls(lock))
      continue;
    bool promptsTurn = waiting(Kind::Prefill) && stepsSincePrefill_ >= kStepsPerTurn;
    if (!promptsTurn && runDecodes(lock))
      continue;
    runPrefill(lock);
  }
}

bool EngineThread::runCalls(std::unique_lock<std::mutex> &lock) {
  auto found = std::ranges::find(jobs_, Kind::Call, &Job::kind);
  if (found == jobs_.end())
    return false;
  Job &job = **found;
  lock.unlock();
  Result<void> result = (*job.work)(*sequences_[job.slot]);
  lock.lock();
  finish(job, std::move(result));
  return true;
}

bool EngineThread::runDecodes(std::unique_lock<std::mutex> &lock) {
  if (!waiting(Kind::Decode))
    return false;
  auto missing = [&] {
    return !waiting(Kind::Prefill) && !waiting(Kind::Call) &&
           waiting(Kind::Decode) < static_cast<size_t>(std::ranges::count(decoding_, true));
  };
  if (missing())
    changed_.wait_for(lock, kRendezvous, [&] { return stopping_ || !missing(); });
  std::vector<Job *> batch;
  std::vector<muse::Sequence *> sequences;
  std::vector<uint32_t> tokens;
  for (Job *job : jobs_)
    if (job->kind == Kind::Decode && batch.size() < muse::Sequence::kMaxTogether) {
      batch.push_back(job);
      sequences.push_back(sequences_[job->slot]);
      tokens.push_back(job->token);
    }
  auto start = Clock::now();
  bool timed = batch.size() == 1 && start < watchedUntil_ && start - timedAt_ > std::chrono::seconds(2);
  lock.unlock();
  Result<void> result;
  std::vector<muse::PhaseSample> samples;
  if (timed) {
    auto profiled = sequences[0]->profileDecode(tokens[0]); // the same kernels, so the same bits
    if (profiled)
      samples = std::move(*profiled);
    else
      result = std::unexpected(std::move(profiled).error());
  } else {
    result = batch.size() == 1 ? sequences[0]->decode(tokens[0]) : muse::Sequence::decodeTogether(sequences, tokens);
  }
  double seconds = secondsSince(start);
  lock.lock();
  if (timed) {
    timeline_ = std::move(samples);
    timedAt_ = Clock::now();
  }
  ++statistics_.steps[batch.size() - 1];
  statistics_.decodeSeconds += seconds;
  statistics_.lastStepSeconds = seconds;
  ++stepsSincePrefill_;
  for (Job *job : batch)
    finish(*job, result);
  return true;
}

bool EngineThread::runPrefill(std::unique_lock<std::mutex> &lock) {
  auto found = std::ranges::find(jobs_, Kind::Prefill, &Job::kind);
  if (found == jobs_.end())
    return false;
  Job &job = **found;
  if (job.cancel) {
    finish(job, fail(ErrorKind::Timeout, "The prompt was cancelled with [{}] tokens left.", job.tokens.size()));
    return true;
  }
  muse::Sequence &sequence = *sequences_[job.slot];
  // Always the same cuts: where a chunk ends decides the last bits of what follows.
  uint32_t room = muse::kPrefillRows - sequence.position() % muse::kPrefillRows;
  auto part = job.tokens.first(std::min<size_t>(room, job.tokens.size()));
  bool others = std::ranges::count(decoding_, true) > 0;
  lock.unlock();
  auto start = Clock::now();
  Result<void> result = sequence.prefill(part, {});
  double seconds = secondsSince(start);
  lock.lock();
  statistics_.prefillTokens += part.size();
  ++statistics_.prefillChunks;
  statistics_.prefillSeconds += seconds;
  if (others)
    statistics_.longestStreamWait = std::max(statistics_.longestStreamWait, seconds);
  stepsSincePrefill_ = 0;
  job.tokens = job.tokens.subspan(part.size());
  if (!result || job.tokens.empty()) {
    finish(job, std::move(result));
  } else { // behind other prompts
    jobs_.remove(&job);
    jobs_.push_back(&job);
  }
  return true;
}

} // namespace pewter::serve
