// SPDX-License-Identifier: Apache-2.0
//
// Every lane of a threadgroup is a fiber. A SIMD group runs each lane until it waits or ends; when
// no lane can run, those that wait with the smallest key are together, and their call is computed.
// A threadgroup barrier is such a call too: the SIMD group then waits for the others.
#include "cpu/abi/OracleAbi.h"
#include "runner/Collectives.h"
#include "runner/Fibers.h"
#include "runner/Launch.h"
#include <unordered_map>

namespace pewter::testing {
namespace {

struct Lane {
  cpu::OracleLane abi;
  Fiber fiber;
  const char *site = nullptr; ///< The call it waits in; null when it can run.
  std::vector<uint64_t> key;
  LaneCall call;
};

void waitTogether(cpu::OracleLane *abi, const char *site, const uint64_t *key, uint32_t keyLength,
                  const void *const *operands, void *result) {
  auto *lane = static_cast<Lane *>(abi->context.scheduler);
  lane->site = site;
  lane->key.assign(key, key + keyLength);
  lane->call = {operands, result};
  lane->fiber.wait();
}
void noBarrier(cpu::KernelContext *) {}
void noLog(cpu::KernelContext *, uint32_t, const char *, const char *, const char *, const uint64_t *,
           uint32_t) {}
void noFault(cpu::KernelContext *, cpu::KernelFault) {}

constexpr cpu::OracleRuntimeTable kRuntime{{noBarrier, noLog, noFault}, waitTogether};

class Threadgroup {
public:
  Threadgroup(std::vector<Lane> &lanes, const std::string &kernel)
      : lanes_(lanes), kernel_(kernel) {}

  Result<void> run() {
    size_t groups = (lanes_.size() + 31) / 32;
    for (;;) {
      size_t waiting = 0;
      for (size_t group = 0; group < groups; ++group) {
        PEWTER_TRY(bool isWaiting, runToBarrier(group));
        waiting += isWaiting;
      }
      if (waiting == 0)
        return {};
      if (waiting != groups)
        return fail(ErrorKind::DeviceLost,
                    "A threadgroup barrier of kernel \"{}\" is reached by [{}] of {} SIMD groups.",
                    kernel_, waiting, groups);
    }
  }

private:
  /// Whether the SIMD group stopped at a barrier (else it has ended).
  Result<bool> runToBarrier(size_t group) {
    size_t begin = group * 32, end = std::min(lanes_.size(), begin + 32);
    for (;;) {
      for (size_t i = begin; i < end; ++i)
        if (!lanes_[i].fiber.isDone() && !lanes_[i].site)
          lanes_[i].fiber.resume();
      const Lane *first = nullptr;
      for (size_t i = begin; i < end; ++i)
        if (lanes_[i].site && (!first || lanes_[i].key < first->key))
          first = &lanes_[i];
      if (!first)
        return false;
      PEWTER_TRY(const Site *site, siteOf(first->site));
      std::vector<uint64_t> key = first->key;
      std::array<LaneCall, 32> calls{};
      for (size_t i = begin; i < end; ++i)
        if (lanes_[i].site && lanes_[i].key == key) {
          calls[i - begin] = lanes_[i].call;
          lanes_[i].site = nullptr;
        }
      if (site->name.starts_with("air.wg.barrier"))
        return true;
      PEWTER_TRY_VOID(evaluate(*site, calls));
    }
  }

  static Result<const Site *> siteOf(const char *text) {
    thread_local std::unordered_map<std::string, Site> known;
    auto found = known.find(text);
    if (found == known.end()) {
      PEWTER_TRY(Site site, parseSite(text));
      found = known.emplace(text, std::move(site)).first;
    }
    return &found->second;
  }

  std::vector<Lane> &lanes_;
  const std::string &kernel_;
};

void setBuiltins(cpu::OracleLane &lane, const Launch &launch, const Size &position,
                 uint32_t index) {
  using air::Builtin;
  auto set = [&](Builtin builtin, Size value) {
    for (int i = 0; i < 3; ++i)
      lane.builtins[size_t(builtin)][i] = value[i];
  };
  Size size = launch.sizeAt(position), full = launch.threadsPerThreadgroup;
  Size local{index % size[0], index / size[0] % size[1], index / size[0] / size[1]};
  Size global;
  for (int i = 0; i < 3; ++i)
    global[i] = position[i] * full[i] + local[i];
  auto upTo = [](uint32_t threads, uint32_t width) { return (threads + width - 1) / width; };
  auto scalar = [](uint32_t value) { return Size{value, 0, 0}; };
  set(Builtin::ThreadPositionInGrid, global);
  set(Builtin::ThreadPositionInThreadgroup, local);
  set(Builtin::ThreadIndexInThreadgroup, scalar(index));
  set(Builtin::ThreadgroupPositionInGrid, position);
  set(Builtin::ThreadsPerGrid, launch.threadsPerGrid);
  set(Builtin::ThreadsPerThreadgroup, size);
  set(Builtin::ThreadgroupsPerGrid, launch.threadgroupsPerGrid());
  set(Builtin::DispatchThreadsPerThreadgroup, full);
  set(Builtin::ThreadIndexInSimdgroup, scalar(index % 32));
  set(Builtin::SimdgroupIndexInThreadgroup, scalar(index / 32));
  set(Builtin::SimdgroupsPerThreadgroup, scalar(upTo(product(size), 32)));
  set(Builtin::DispatchSimdgroupsPerThreadgroup, scalar(upTo(product(full), 32)));
  set(Builtin::ThreadsPerSimdgroup, scalar(32));
  set(Builtin::ThreadIndexInQuadgroup, scalar(index % 4));
  set(Builtin::QuadgroupIndexInThreadgroup, scalar(index / 4));
  set(Builtin::QuadgroupsPerThreadgroup, scalar(upTo(product(size), 4)));
  set(Builtin::DispatchQuadgroupsPerThreadgroup, scalar(upTo(product(full), 4)));
  set(Builtin::GridOrigin, {0, 0, 0});
  set(Builtin::GridSize, launch.threadsPerGrid);
}

} // namespace

Result<void> runOracleImage(const LoadedImage &loaded, const Launch &launch) {
  const cpu::KernelImage &image = loaded.image();
  static_assert(cpu::kOracleBuiltins == size_t(air::Builtin::GridSize) + 1);
  auto entry = reinterpret_cast<cpu::OracleEntry>(loaded.at(image.simdgroupEntry));
  BoundArguments bound = bindArguments(image, launch);
  ThreadgroupBlock block(bound.threadgroupBytes);
  StackPool stacks(image.stackBytes + 65536);
  for (uint64_t group = 0; group < launch.threadgroups(); ++group) {
    Size position = launch.positionOf(group);
    std::vector<Lane> lanes(product(launch.sizeAt(position)));
    for (size_t i = 0; i < lanes.size(); ++i) {
      Lane &lane = lanes[i];
      lane.abi = {};
      lane.abi.context = contextOf(launch, &kRuntime.base, block.data());
      for (int k = 0; k < 3; ++k)
        lane.abi.context.position[k] = position[k];
      lane.abi.context.simdgroupIndex = uint32_t(i / 32);
      lane.abi.context.scheduler = &lane;
      lane.abi.lane = uint32_t(i % 32);
      setBuiltins(lane.abi, launch, position, uint32_t(i));
      lane.fiber.start(stacks, [&lane, entry, &bound] { entry(bound.values.data(), &lane.abi); });
    }
    block.poison();
    PEWTER_TRY_VOID(Threadgroup(lanes, image.reflection.name).run());
  }
  return {};
}

} // namespace pewter::testing
