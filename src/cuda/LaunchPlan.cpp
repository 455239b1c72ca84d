// SPDX-License-Identifier: Apache-2.0
// A dispatch whose threads do not fill its last threadgroups becomes up to eight launches, one for
// each combination of whole and ragged axes: a block then has exactly the threads of its threadgroup.
// Between two intervals of many launches the edges would be all pairs; the graph maker puts an empty
// node there (CudaPlayer.cpp). Tested by CudaDevice_test.cpp.
#include "cuda/LaunchPlan.h"
#include <algorithm>
#include <cstring>

namespace pewter::cuda {
using device::ArgumentBinding;
using device::DispatchCommand;
using device::Size3;

void LaunchPlan::clear() {
  launches.clear();
  arguments.clear();
  isConstant.clear();
  dependencies.clear();
  constants.clear();
}

Hash128 LaunchPlan::shape() const {
  std::vector<uint64_t> words;
  words.reserve(launches.size() * 3 + dependencies.size());
  for (const Launch &launch : launches) {
    words.push_back(reinterpret_cast<uint64_t>(launch.function));
    words.push_back(uint64_t(launch.firstArgument) << 32 | launch.argumentCount);
    words.push_back(uint64_t(launch.mayOverlap) << 32 | launch.dependencyCount);
  }
  words.insert(words.end(), dependencies.begin(), dependencies.end());
  return hashOf(std::as_bytes(std::span(words)));
}

void LaunchPlanner::beginEncoder(bool concurrent) {
  barrier();
  concurrent_ = concurrent;
}

void LaunchPlanner::barrier() {
  if (current_.empty())
    return;
  before_ = std::move(current_);
  current_.clear();
}

void LaunchPlanner::restart() {
  before_.clear();
  current_.clear();
}

void LaunchPlanner::add(const DispatchCommand &command, const CudaPipeline &pipeline, Launch launch) {
  launch.function = pipeline.function(command.threadsPerThreadgroup.product());
  launch.firstDependency = uint32_t(plan_.dependencies.size());
  launch.dependencyCount = uint32_t(before_.size());
  plan_.dependencies.insert(plan_.dependencies.end(), before_.begin(), before_.end());
  current_.push_back(uint32_t(plan_.launches.size()));
  plan_.launches.push_back(launch);
}

void LaunchPlanner::addInPieces(const DispatchCommand &command, const CudaPipeline &pipeline,
                                const Launch &launch) {
  constexpr uint32_t kMost = 65535; // Blocks of a launch in y and in z.
  for (uint32_t z = 0; z < launch.grid[2]; z += kMost)
    for (uint32_t y = 0; y < launch.grid[1]; y += kMost) {
      Launch piece = launch;
      piece.grid[1] = std::min(kMost, launch.grid[1] - y);
      piece.grid[2] = std::min(kMost, launch.grid[2] - z);
      piece.position.firstThreadgroup[1] += y;
      piece.position.firstThreadgroup[2] += z;
      add(command, pipeline, piece);
    }
}

Result<void> LaunchPlanner::dispatch(const DispatchCommand &command, const Size3 &grid) {
  const auto &pipeline = static_cast<const CudaPipeline &>(*command.pipeline);
  const Size3 &block = command.threadsPerThreadgroup;
  if (grid.product() == 0)
    return {};
  if (!concurrent_)
    barrier();

  Launch launch{};
  launch.firstArgument = uint32_t(plan_.arguments.size());
  launch.argumentCount = command.argumentCount;
  launch.mayOverlap = true;
  for (const air::Argument &argument : pipeline.reflection().arguments)
    if (argument.kind == air::ArgumentKind::Buffer && argument.addressSpace == air::AddressSpace::Constant)
      launch.mayOverlap &= argument.parameter >= command.argumentCount ||
                           command.arguments()[argument.parameter].kind == ArgumentBinding::Kind::Bytes;
  uint32_t sharedBytes = 0;
  for (uint32_t i = 0; i < command.argumentCount; ++i) {
    const ArgumentBinding &binding = command.arguments()[i];
    uint64_t value = 0;
    bool isConstant = false;
    switch (binding.kind) {
    case ArgumentBinding::Kind::Unbound:
      break;
    case ArgumentBinding::Kind::Buffer:
    case ArgumentBinding::Kind::Texture:
    case ArgumentBinding::Kind::Sampler:
      value = binding.value;
      break;
    case ArgumentBinding::Kind::Bytes: {
      // Aligned as Metal aligns inline constants.
      plan_.constants.resize((plan_.constants.size() + 255) / 256 * 256);
      value = plan_.constants.size();
      isConstant = true;
      const auto *bytes = reinterpret_cast<const std::byte *>(binding.value);
      plan_.constants.insert(plan_.constants.end(), bytes, bytes + binding.size);
      break;
    }
    case ArgumentBinding::Kind::ThreadgroupMemory:
      sharedBytes = (sharedBytes + 127) / 128 * 128;
      value = sharedBytes;
      sharedBytes += binding.size;
      break;
    }
    plan_.arguments.push_back(value);
    plan_.isConstant.push_back(isConstant);
  }
  launch.dynamicSharedBytes = sharedBytes;

  const uint64_t size[3] = {block.x, block.y, block.z};
  uint64_t whole[3], rest[3];
  const uint64_t count[3] = {grid.x, grid.y, grid.z};
  for (int i = 0; i < 3; ++i) {
    whole[i] = command.exactThreads ? count[i] / size[i] : count[i];
    rest[i] = command.exactThreads ? count[i] % size[i] : 0;
    launch.position.threadgroupsPerGrid[i] = uint32_t(whole[i] + (rest[i] != 0));
    launch.position.threadsPerGrid[i] = uint32_t(command.exactThreads ? count[i] : count[i] * size[i]);
    launch.position.threadsPerThreadgroup[i] = uint32_t(size[i]);
  }
  if (whole[0] > 0x7fffffff)
    return fail(ErrorKind::Unsupported, "Kernel \"{}\": a grid of ({}) threadgroups in x is over what "
                "CUDA launches (2147483647).", pipeline.reflection().name, whole[0]);
  for (unsigned edges = 0; edges < 8; ++edges) {
    bool isEmpty = false;
    for (unsigned i = 0; i < 3; ++i)
      isEmpty |= (edges >> i & 1 ? rest[i] : whole[i]) == 0;
    if (isEmpty)
      continue;
    for (unsigned i = 0; i < 3; ++i) {
      bool edge = edges >> i & 1;
      launch.grid[i] = edge ? 1 : uint32_t(whole[i]);
      launch.block[i] = uint32_t(edge ? rest[i] : size[i]);
      launch.position.firstThreadgroup[i] = edge ? uint32_t(whole[i]) : 0;
    }
    addInPieces(command, pipeline, launch);
  }
  return {};
}

} // namespace pewter::cuda
