// SPDX-License-Identifier: Apache-2.0
//
// Whether an interval is shared is decided by what its kernels took before: each variant remembers
// the time of one threadgroup. A kernel that never ran does its first threadgroup here, timed. Below
// kShareTicks the cost of telling another core is not earned back.
//
// After a fault the rest of the stream is left out, except that its events are still signalled:
// other queues may wait for them, and a failed stream must not become their hang.
//
// Tested by CpuQueue_test.cpp.
#include "cpu/CpuPlayer.h"
#include "base/Toggles.h"
#include "cpu/Ticks.h"
#include <algorithm>
#include <numeric>

namespace pewter::cpu {
using namespace device;
namespace {

constexpr double kShareTicks = double(ticksOf(4'000));
constexpr double kMinUnitTicks = double(ticksOf(1'500));
constexpr double kMaxUnitTicks = double(ticksOf(60'000));
constexpr uint64_t kUnitsPerThread = 16;
constexpr uint64_t kMaxUnits = uint64_t(1) << 24;
constexpr uint64_t kMaxShuffledUnits = 65536;
constexpr uint32_t kTimesReplaced = 4;
constexpr double kBlitTicksPerPiece = double(ticksOf(20'000));

void noteCost(const KernelVariant &variant, double ticks, uint64_t groups) {
  float now = static_cast<float>(ticks / double(groups)) + 0.001f;
  float before = variant.ticksPerGroup.load(std::memory_order_relaxed);
  uint32_t times = variant.timesMeasured.load(std::memory_order_relaxed);
  if (times < kTimesReplaced)
    variant.timesMeasured.store(times + 1, std::memory_order_relaxed);
  else if (now < before)
    now = before + (now - before) / 16;
  variant.ticksPerGroup.store(now, std::memory_order_relaxed);
}

double costOf(const Job &job) {
  return job.kind == Job::Kind::Kernel
             ? double(job.variant->ticksPerGroup.load(std::memory_order_relaxed))
             : kBlitTicksPerPiece;
}

uint32_t alignUp16(uint64_t value) { return static_cast<uint32_t>((value + 15) & ~uint64_t(15)); }

} // namespace

CpuPlayer::CpuPlayer(WorkerPool &pool) : pool_(pool) {
  jobs_.reserve(64);
  arguments_.reserve(64 * 16);
}

Result<void> CpuPlayer::addDispatch(const DispatchCommand &command) {
  auto &pipeline = *static_cast<CpuPipeline *>(command.pipeline);
  const uint64_t tg[3] = {command.threadsPerThreadgroup.x, command.threadsPerThreadgroup.y,
                          command.threadsPerThreadgroup.z};
  uint64_t grid[3] = {command.grid.x, command.grid.y, command.grid.z};
  if (command.indirectAddress) {
    auto *counts = reinterpret_cast<const uint32_t *>(command.indirectAddress);
    std::copy_n(counts, 3, grid);
  }
  Job &job = jobs_.emplace_back();
  job.log = log_;
  job.groups = 1;
  for (int d = 0; d < 3; ++d) {
    uint64_t groups = grid[d], threads = grid[d];
    if (command.exactThreads) {
      groups = tg[d] ? (threads + tg[d] - 1) / tg[d] : 0;
      job.hasEdge |= tg[d] && threads % tg[d] != 0;
    } else if (__builtin_mul_overflow(groups, tg[d], &threads)) {
      threads = ~uint64_t(0);
    }
    if (threads > UINT32_MAX || groups > UINT32_MAX ||
        __builtin_mul_overflow(job.groups, groups, &job.groups)) {
      jobs_.pop_back();
      return fail(ErrorKind::Validation,
                  "The grid of kernel \"{}\" has ({} x {} x {}) {} of ({} x {} x {}) threads; a "
                  "dimension holds at most {} threads.",
                  pipeline.reflection().name, grid[0], grid[1], grid[2],
                  command.exactThreads ? "threads in threadgroups" : "threadgroups", tg[0], tg[1],
                  tg[2], UINT32_MAX);
    }
    job.context.threadgroupsPerGrid[d] = static_cast<uint32_t>(groups);
    job.context.threadsPerGrid[d] = static_cast<uint32_t>(threads);
    job.context.threadsPerThreadgroup[d] = static_cast<uint32_t>(tg[d]);
  }
  uint64_t threadsPerThreadgroup = tg[0] * tg[1] * tg[2];
  if (job.groups == 0 || threadsPerThreadgroup == 0) {
    jobs_.pop_back();
    return {};
  }
  job.context.simdgroupsPerThreadgroup =
      static_cast<uint32_t>((threadsPerThreadgroup + air::kSimdWidth - 1) / air::kSimdWidth);
  job.variant = pipeline.variantFor(command.threadsPerThreadgroup);
  if (job.hasEdge) {
    job.edge = pipeline.edgeVariantFor(command.threadsPerThreadgroup, grid[0] % tg[0]);
    job.hasEdge = job.edge != job.variant;
  }
  if (!job.variant || (job.hasEdge && !job.edge)) {
    jobs_.pop_back();
    return fail(ErrorKind::Internal,
                "Pipeline \"{}\" was not prepared for threadgroups of ({} x {} x {}) threads.",
                pipeline.reflection().name, tg[0], tg[1], tg[2]);
  }
  // Offsets for now; flush() turns them into addresses when the vector has stopped growing.
  job.arguments = reinterpret_cast<void *const *>(arguments_.size());
  uint64_t threadgroupBytes = alignUp16(job.variant->staticThreadgroupBytes);
  if (job.edge)
    threadgroupBytes =
        std::max<uint64_t>(threadgroupBytes, alignUp16(job.edge->staticThreadgroupBytes));
  const ArgumentBinding *bindings = command.arguments();
  for (uint32_t i = 0; i < command.argumentCount; ++i) {
    const ArgumentBinding &binding = bindings[i];
    if (binding.kind == ArgumentBinding::Kind::ThreadgroupMemory) {
      arguments_.push_back(reinterpret_cast<void *>(threadgroupBytes));
      threadgroupBytes += alignUp16(binding.size);
    } else {
      arguments_.push_back(binding.kind == ArgumentBinding::Kind::Unbound
                               ? nullptr
                               : reinterpret_cast<void *>(binding.value));
    }
  }
  job.threadgroupBytes = static_cast<uint32_t>(std::min<uint64_t>(threadgroupBytes, UINT32_MAX));
  return {};
}

void CpuPlayer::addBlit(const Command &command) {
  Job &job = jobs_.emplace_back();
  if (command.kind == CommandKind::CopyBuffer) {
    auto &copy = static_cast<const CopyBufferCommand &>(command);
    job.kind = Job::Kind::Copy;
    job.source = static_cast<const std::byte *>(copy.source->contents()) + copy.sourceOffset;
    job.destination = static_cast<std::byte *>(copy.destination->contents()) + copy.destinationOffset;
    job.length = copy.length;
  } else {
    auto &fill = static_cast<const FillBufferCommand &>(command);
    job.kind = Job::Kind::Fill;
    job.destination = static_cast<std::byte *>(fill.destination->contents()) + fill.offset;
    job.length = fill.length;
    job.fillValue = fill.value;
  }
  // Pieces of ranges that overlap would overwrite each other's source.
  bool overlaps = job.source && job.source < job.destination + job.length &&
                  job.destination < job.source + job.length;
  job.pieceBytes = overlaps ? std::max<uint64_t>(job.length, 1) : kBlitPieceBytes;
  job.groups = (job.length + job.pieceBytes - 1) / job.pieceBytes;
}

std::optional<std::string> CpuPlayer::runAlone() {
  for (const Job &job : jobs_) {
    if (job.done == job.groups)
      continue;
    uint64_t start = readTicks();
    if (auto fault = runner_->run(job, job.done, job.groups))
      return fault;
    if (job.kind == Job::Kind::Kernel)
      noteCost(*job.variant, double(readTicks() - start), job.groups - job.done);
  }
  return std::nullopt;
}

std::optional<std::string> CpuPlayer::runShared(double ticks) {
  double unitTicks = std::clamp(ticks / double(pool_.threads() * kUnitsPerThread), kMinUnitTicks,
                                kMaxUnitTicks);
  uint64_t units = 0;
  double longest = unitTicks; // A threadgroup may take longer than a unit is to take.
  for (Job &job : jobs_) {
    uint64_t left = job.groups - job.done;
    job.groupsPerUnit = std::max<uint64_t>(uint64_t(unitTicks / std::max(costOf(job), 1e-3)), 1);
    job.groupsPerUnit = std::max(std::min(job.groupsPerUnit, std::max<uint64_t>(left, 1)),
                                 left * jobs_.size() / kMaxUnits + 1);
    job.firstUnit = static_cast<uint32_t>(units);
    job.unitCount = static_cast<uint32_t>((left + job.groupsPerUnit - 1) / job.groupsPerUnit);
    units += job.unitCount;
    longest = std::max(longest, double(job.groupsPerUnit) * costOf(job));
  }
  work_.begin(jobs_, static_cast<uint32_t>(units), pool_.threads(), {}, *runner_);
  uint64_t start = readTicks();
  pool_.run(*seat_, work_, static_cast<uint64_t>(ticks), static_cast<uint64_t>(longest));
  // The time is shared among the jobs as it was expected; all of them were as wrong as the whole.
  double ratio = double(readTicks() - start) * pool_.threads() / std::max(ticks, 1.0);
  for (const Job &job : jobs_)
    if (job.kind == Job::Kind::Kernel && job.done < job.groups && ratio < 0.5)
      noteCost(*job.variant, costOf(job) * ratio, 1);
  return work_.takeFault();
}

std::optional<std::string> CpuPlayer::runShuffled() {
  uint64_t total = 0, units = 0;
  for (const Job &job : jobs_)
    total += job.groups;
  for (Job &job : jobs_) {
    job.groupsPerUnit = total / kMaxShuffledUnits + 1;
    job.firstUnit = static_cast<uint32_t>(units);
    job.unitCount = static_cast<uint32_t>((job.groups + job.groupsPerUnit - 1) / job.groupsPerUnit);
    units += job.unitCount;
  }
  order_.resize(units);
  std::iota(order_.begin(), order_.end(), 0u);
  std::shuffle(order_.begin(), order_.end(), random_);
  work_.begin(jobs_, static_cast<uint32_t>(units), pool_.threads(), order_, *runner_);
  if (seat_ && pool_.threads() > 1)
    pool_.run(*seat_, work_, ~uint64_t(0), 0);
  else
    work_.work(0);
  return work_.takeFault();
}

Result<void> CpuPlayer::flush() {
  if (jobs_.empty())
    return {};
  for (Job &job : jobs_)
    if (job.kind == Job::Kind::Kernel)
      job.arguments = arguments_.data() + reinterpret_cast<size_t>(job.arguments);
  std::optional<std::string> fault;
  if (shuffles_) [[unlikely]] {
    fault = runShuffled();
  } else if (seat_ && pool_.mayShare(*seat_)) {
    double ticks = 0;
    for (Job &job : jobs_) {
      double cost = costOf(job);
      if (cost == 0) {
        uint64_t start = readTicks();
        if ((fault = runner_->run(job, 0, 1)))
          break;
        job.done = 1;
        noteCost(*job.variant, double(readTicks() - start), 1);
        cost = costOf(job);
      }
      ticks += cost * double(job.groups - job.done);
    }
    if (!fault)
      fault = ticks < kShareTicks ? runAlone() : runShared(ticks);
  } else {
    fault = runAlone();
  }
  jobs_.clear();
  arguments_.clear();
  if (fault)
    return std::unexpected(Error(ErrorKind::DeviceLost, std::move(*fault)));
  return {};
}

Error CpuPlayer::describe(Error error, const CommandStream &stream) const {
  if (*encoderLabel_)
    static_cast<void>(
        std::move(error).whileDoing(fmt::format("running encoder \"{}\"", encoderLabel_)));
  if (!stream.label.empty())
    static_cast<void>(
        std::move(error).whileDoing(fmt::format("running command buffer \"{}\"", stream.label)));
  return error;
}

void CpuPlayer::play(const CommandStream &stream, Completion &completion) {
  runner_ = KernelRunner::obtain();
  seat_ = pool_.take();
  shuffles_ = enabled(Toggle::shuffle_threadgroups);
  encoderLabel_ = "";
  concurrent_ = false;
  log_ = stream.log.get();
  completion.gpuStart = hostSeconds();
  const Command *command = stream.first();
  Result<void> state;
  for (; command && state; command = stream.next(command)) {
    switch (command->kind) {
    case CommandKind::BeginEncoder: {
      auto *begin = static_cast<const BeginEncoderCommand *>(command);
      concurrent_ = begin->concurrent;
      encoderLabel_ = begin->label ? begin->label : "";
      break;
    }
    case CommandKind::EndEncoder:
      state = flush();
      if (state)
        encoderLabel_ = "";
      break;
    case CommandKind::Dispatch:
      state = addDispatch(*static_cast<const DispatchCommand *>(command));
      if (state && !concurrent_)
        state = flush();
      break;
    case CommandKind::Barrier:
      state = flush();
      break;
    case CommandKind::CopyBuffer:
    case CommandKind::FillBuffer:
      state = flush();
      if (state) {
        addBlit(*command);
        state = flush();
      }
      break;
    case CommandKind::SignalEvent:
    case CommandKind::WaitEvent: {
      state = flush();
      auto *event = static_cast<const EventCommand *>(command);
      if (command->kind == CommandKind::SignalEvent)
        event->event->signal(event->value);
      else if (state)
        event->event->wait(event->value, ~uint64_t(0));
      break;
    }
    case CommandKind::UpdateFence: // Encoders of a queue run in order.
    case CommandKind::WaitFence:
    case CommandKind::PushDebugGroup:
    case CommandKind::PopDebugGroup:
      break;
    }
  }
  if (state)
    state = flush();
  if (!state) {
    jobs_.clear();
    arguments_.clear();
    completion.error = describe(std::move(state).error(), stream);
    for (; command; command = stream.next(command))
      if (command->kind == CommandKind::SignalEvent) {
        auto *event = static_cast<const EventCommand *>(command);
        event->event->signal(event->value);
      }
  }
  pool_.giveBack(seat_);
  KernelRunner::recycle(std::move(runner_));
  completion.gpuEnd = hostSeconds();
}

} // namespace pewter::cpu
