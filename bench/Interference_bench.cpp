// SPDX-License-Identifier: Apache-2.0
//
// What another busy process costs. A stream like one token of a decode, 400 dispatches of about 50
// microseconds with a barrier after each, is played by one thread and by as many as the machine has,
// in turn, with a number of busy processes beside it. The figure is the rate of the many-thread runs
// over that of the one-thread runs without the busy processes: it must not fall below 0.9 with one.
//
//   Interference_bench [busy processes, default 1] [rounds, default 20]
#include "HandMadeKernel.h"
#include "cpu/CpuPlayer.h"
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace pewter {
namespace {

/// Each threadgroup sums 16 KiB of its own, as a row of a matrix is read.
void sumRows(void *const *arguments, cpu::KernelContext *, uint64_t begin, uint64_t end) {
  auto *in = static_cast<const float *>(arguments[0]);
  auto *out = static_cast<float *>(arguments[1]);
  for (uint64_t row = begin; row < end; ++row) {
    float sums[32] = {};
    for (int i = 0; i < 4096; i += 32)
      for (int lane = 0; lane < 32; ++lane)
        sums[lane] += in[row * 4096 + i + lane];
    float total = 0;
    for (float sum : sums)
      total += sum;
    out[row] = total;
  }
}

constexpr uint64_t kRows = 4096; // 64 MiB: out of cache.
constexpr uint64_t kRowsPerDispatch = 64;
constexpr int kDispatches = 400;

double play(cpu::CpuPlayer &player, cpu::CpuPipeline &pipeline, const float *in, float *out) {
  testing::Recorder recorder;
  recorder.begin();
  for (int i = 0; i < kDispatches; ++i)
    recorder.dispatch(pipeline, {kRowsPerDispatch, 1, 1}, {32, 1, 1},
                      {testing::bufferArgument(in + i * kRowsPerDispatch % kRows * 4096),
                       testing::bufferArgument(out)});
  recorder.end();
  device::Completion completion;
  player.play(recorder.stream(), completion);
  return completion.gpuEnd - completion.gpuStart;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

std::vector<pid_t> startBusyProcesses(int count) {
  std::vector<pid_t> children;
  for (int i = 0; i < count; ++i) {
    pid_t child = ::fork();
    if (child == 0) {
      for (volatile unsigned spin = 0;; spin = spin + 1)
        if (::getppid() == 1)
          ::_exit(0);
    }
    children.push_back(child);
  }
  return children;
}

int run(int busy, int rounds) {
  auto pipeline = testing::pipelineOf({.range = sumRows});
  std::vector<float> in(kRows * 4096, 1.0f), out(kRows);
  static auto &onePool = *new cpu::WorkerPool(1);
  cpu::CpuPlayer one(onePool), many;
  std::vector<double> oneQuiet, manyQuiet, oneBusy, manyBusy;
  for (int round = 0; round < rounds; ++round) {
    oneQuiet.push_back(play(one, *pipeline, in.data(), out.data()));
    manyQuiet.push_back(play(many, *pipeline, in.data(), out.data()));
  }
  auto children = startBusyProcesses(busy);
  for (int round = 0; round < rounds; ++round) {
    oneBusy.push_back(play(one, *pipeline, in.data(), out.data()));
    manyBusy.push_back(play(many, *pipeline, in.data(), out.data()));
  }
  for (pid_t child : children) {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
  double base = median(oneQuiet);
  std::printf("threads %u, busy processes %d, milliseconds a stream (rate against 1 thread quiet)\n",
              cpu::WorkerPool::instance().threads(), busy);
  std::printf("quiet: 1 thread %.2f (1.00), all %.2f (%.2f)\n", base * 1e3, median(manyQuiet) * 1e3,
              base / median(manyQuiet));
  std::printf("busy:  1 thread %.2f (%.2f), all %.2f (%.2f)\n", median(oneBusy) * 1e3,
              base / median(oneBusy), median(manyBusy) * 1e3, base / median(manyBusy));
  return 0;
}

} // namespace
} // namespace pewter

int main(int argc, char **argv) {
  return pewter::run(argc > 1 ? std::atoi(argv[1]) : 1, argc > 2 ? std::atoi(argv[2]) : 20);
}
