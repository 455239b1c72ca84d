// SPDX-License-Identifier: Apache-2.0
// Constants go through one pinned block and one copy for each plan. Within a command stream every plan
// gets its own part of the block, because an earlier plan may still be running; the stream is
// synchronised before the block is used again. Tested by CudaDevice_test.cpp.
#include "cuda/CudaPlayer.h"
#include "base/Toggles.h"
#include "cuda/CudaMemory.h"
#include <cstring>

namespace pewter::cuda {
using device::Command;
using device::CommandKind;
using device::Completion;
using device::Size3;

#define PEWTER_CUDA(call, name) PEWTER_TRY_VOID(check(gpu_->driver, gpu_->driver.call, name))

CudaPlayer::~CudaPlayer() {
  if (!gpu_->enter())
    return;
  const Driver &driver = gpu_->driver;
  for (Graph &graph : graphs_)
    destroy(graph);
  if (begin_)
    driver.destroyEvent(begin_);
  if (end_)
    driver.destroyEvent(end_);
  if (constants_)
    driver.release(constants_);
  if (staging_)
    driver.releaseHost(staging_);
  if (stream_)
    driver.destroyStream(stream_);
}

Result<void> CudaPlayer::setUp() {
  PEWTER_TRY_VOID(gpu_->enter());
  if (stream_)
    return {};
  PEWTER_CUDA(createStream(&stream_, kStreamNonBlocking), "cuStreamCreate");
  PEWTER_CUDA(createEvent(&begin_, 0), "cuEventCreate");
  PEWTER_CUDA(createEvent(&end_, 0), "cuEventCreate");
  return {};
}

void CudaPlayer::play(const device::CommandStream &stream, Completion &completion) {
  auto run = [&]() -> Result<void> {
    if (isLost_)
      return fail(ErrorKind::DeviceLost, "The GPU was lost by an earlier command buffer.");
    PEWTER_TRY_VOID(setUp());
    plan_.clear();
    planner_.restart();
    constantsUsed_ = 0;
    PEWTER_CUDA(recordEvent(begin_, stream_), "cuEventRecord");
    PEWTER_TRY_VOID(playCommands(stream));
    PEWTER_CUDA(recordEvent(end_, stream_), "cuEventRecord");
    completion.kernelEnd = device::hostSeconds();
    return synchronize();
  };
  Result<void> result = run();
  completion.gpuEnd = device::hostSeconds();
  completion.gpuStart = completion.gpuEnd;
  if (!result) {
    isLost_ |= result.error().kind() == ErrorKind::DeviceLost;
    completion.error = std::move(result.error())
                           .whileDoing(fmt::format("playing command buffer \"{}\"", stream.label));
    return;
  }
  float milliseconds = 0;
  if (gpu_->driver.elapsedMilliseconds(&milliseconds, begin_, end_) == 0)
    completion.gpuStart = completion.gpuEnd - double(milliseconds) * 1e-3;
}

Result<void> CudaPlayer::synchronize() {
  PEWTER_CUDA(synchronize(stream_), "cuStreamSynchronize");
  constantsUsed_ = 0;
  return {};
}

Result<void> CudaPlayer::playCommands(const device::CommandStream &stream) {
  for (const Command *c = stream.first(); c; c = stream.next(c)) {
    switch (c->kind) {
    case CommandKind::BeginEncoder:
      planner_.beginEncoder(static_cast<const device::BeginEncoderCommand *>(c)->concurrent);
      break;
    case CommandKind::Barrier:
      planner_.barrier();
      break;
    case CommandKind::Dispatch: {
      const auto &dispatch = *static_cast<const device::DispatchCommand *>(c);
      Size3 grid = dispatch.grid;
      if (dispatch.indirectAddress) {
        PEWTER_TRY(grid, readCounts(dispatch.indirectAddress));
      }
      PEWTER_TRY_VOID(planner_.dispatch(dispatch, grid));
      break;
    }
    case CommandKind::CopyBuffer:
      PEWTER_TRY_VOID(flush());
      PEWTER_TRY_VOID(copy(*static_cast<const device::CopyBufferCommand *>(c)));
      break;
    case CommandKind::FillBuffer: {
      const auto &command = *static_cast<const device::FillBufferCommand *>(c);
      PEWTER_TRY_VOID(flush());
      PEWTER_CUDA(fill(command.destination->deviceAddress() + command.offset, command.value, command.length,
                       stream_), "cuMemsetD8Async");
      break;
    }
    case CommandKind::SignalEvent: {
      const auto &command = *static_cast<const device::EventCommand *>(c);
      PEWTER_TRY_VOID(flush());
      PEWTER_TRY_VOID(synchronize());
      command.event->signal(command.value);
      break;
    }
    case CommandKind::WaitEvent: {
      const auto &command = *static_cast<const device::EventCommand *>(c);
      PEWTER_TRY_VOID(flush());
      command.event->wait(command.value, ~uint64_t(0));
      PEWTER_TRY_VOID(gpu_->enter());
      break;
    }
    case CommandKind::EndEncoder: // Encoders run in order: beginEncoder puts the barrier.
    case CommandKind::UpdateFence:
    case CommandKind::WaitFence:
    case CommandKind::PushDebugGroup:
    case CommandKind::PopDebugGroup:
      break;
    }
  }
  return flush();
}

Result<void> CudaPlayer::copy(const device::CopyBufferCommand &command) {
  // The driver sees from the addresses which side each is on.
  PEWTER_CUDA(copy(command.destination->deviceAddress() + command.destinationOffset,
                           command.source->deviceAddress() + command.sourceOffset, command.length, stream_),
              "cuMemcpyAsync");
  return {};
}

Result<Size3> CudaPlayer::readCounts(uint64_t address) {
  PEWTER_TRY_VOID(flush());
  uint32_t counts[3] = {};
  PEWTER_CUDA(copyToHost(counts, address, sizeof counts, stream_), "cuMemcpyDtoHAsync");
  PEWTER_TRY_VOID(synchronize());
  return Size3{counts[0], counts[1], counts[2]};
}

Result<void> CudaPlayer::uploadConstants() {
  uint64_t size = (plan_.constants.size() + 255) / 256 * 256;
  if (size == 0)
    return {};
  const Driver &driver = gpu_->driver;
  if (constantsUsed_ + size > constantsCapacity_) {
    PEWTER_TRY_VOID(synchronize());
    uint64_t capacity = std::max<uint64_t>(1 << 20, size * 2);
    if (size > constantsCapacity_) {
      if (constants_)
        PEWTER_CUDA(release(constants_), "cuMemFree");
      if (staging_)
        PEWTER_CUDA(releaseHost(staging_), "cuMemFreeHost");
      constants_ = 0, staging_ = nullptr, constantsCapacity_ = 0;
      PEWTER_CUDA(allocate(&constants_, capacity), "cuMemAlloc");
      PEWTER_TRY_VOID(check(driver, driver.allocateHost(&staging_, capacity, kHostAllocPortable), "cuMemHostAlloc"));
      constantsCapacity_ = capacity;
    }
  }
  auto *staged = static_cast<std::byte *>(staging_) + constantsUsed_;
  std::memcpy(staged, plan_.constants.data(), plan_.constants.size());
  CuAddress base = constants_ + constantsUsed_;
  PEWTER_CUDA(copyToDevice(base, staged, plan_.constants.size(), stream_), "cuMemcpyHtoDAsync");
  for (size_t i = 0; i < plan_.arguments.size(); ++i)
    if (plan_.isConstant[i])
      plan_.arguments[i] += base;
  constantsUsed_ += size;
  return {};
}

Result<void> CudaPlayer::flush() {
  if (!plan_.empty()) {
    PEWTER_TRY_VOID(uploadConstants());
    PEWTER_TRY_VOID(plan_.launches.size() < kLeastForGraph ? launchDirectly() : launchGraph());
  }
  plan_.clear();
  planner_.restart();
  return {};
}

void CudaPlayer::parametersOf(const Launch &launch, std::vector<void *> &pointers) {
  pointers.clear();
  for (uint32_t i = 0; i < launch.argumentCount; ++i)
    pointers.push_back(&plan_.arguments[launch.firstArgument + i]);
  pointers.push_back(const_cast<LaunchGrid *>(&launch.position));
}

Result<void> CudaPlayer::launchDirectly() {
  std::vector<void *> pointers;
  for (const Launch &l : plan_.launches) {
    parametersOf(l, pointers);
    PEWTER_CUDA(launch(l.function, l.grid[0], l.grid[1], l.grid[2], l.block[0], l.block[1], l.block[2],
                       l.dynamicSharedBytes, stream_, pointers.data(), nullptr), "cuLaunchKernel");
  }
  return {};
}

namespace {

CuKernelNodeParams nodeParams(const Launch &launch, std::vector<void *> &pointers) {
  return {launch.function, launch.grid[0],  launch.grid[1],  launch.grid[2],
          launch.block[0], launch.block[1], launch.block[2], launch.dynamicSharedBytes,
          pointers.data(), nullptr,         nullptr,         nullptr};
}

} // namespace

Result<void> CudaPlayer::build(Graph &graph) {
  PEWTER_CUDA(createGraph(&graph.graph, 0), "cuGraphCreate");
  std::vector<void *> pointers;
  std::vector<CuGraphNode> waits;
  CuGraphNode join = nullptr;
  uint32_t joinFirst = ~0u, joinCount = 0;
  const bool branching = enabled(Toggle::branching_graphs);
  // A kernel for 9.0 waits by itself for the one before it.
  const bool overlaps = !branching && gpu_->architecture >= 90 && gpu_->driver.addDependencies &&
                        enabled(Toggle::overlapping_launches);
  for (const Launch &l : plan_.launches) {
    waits.clear();
    const uint32_t *dependencies = plan_.dependencies.data() + l.firstDependency;
    if (!branching) {
      // The driver launches a chain at once, and a graph with branches node by node.
      if (!graph.nodes.empty() && !(overlaps && l.mayOverlap))
        waits.push_back(graph.nodes.back());
    } else if (l.dependencyCount > 2) {
      // Launches of one interval share their dependencies: one empty node joins them.
      if (!join || joinCount != l.dependencyCount || joinFirst != dependencies[0]) {
        for (uint32_t i = 0; i < l.dependencyCount; ++i)
          waits.push_back(graph.nodes[dependencies[i]]);
        PEWTER_CUDA(addEmptyNode(&join, graph.graph, waits.data(), waits.size()), "cuGraphAddEmptyNode");
        joinFirst = dependencies[0], joinCount = l.dependencyCount;
        waits.clear();
      }
      waits.push_back(join);
    } else {
      for (uint32_t i = 0; i < l.dependencyCount; ++i)
        waits.push_back(graph.nodes[dependencies[i]]);
    }
    parametersOf(l, pointers);
    CuKernelNodeParams params = nodeParams(l, pointers);
    CuGraphNode node;
    PEWTER_CUDA(addKernelNode(&node, graph.graph, waits.data(), waits.size(), &params),
                "cuGraphAddKernelNode");
    if (overlaps && l.mayOverlap && !graph.nodes.empty())
      PEWTER_CUDA(addDependencies(graph.graph, &graph.nodes.back(), &node, &kProgrammaticEdge, 1),
                  "cuGraphAddDependencies");
    graph.nodes.push_back(node);
  }
  PEWTER_CUDA(instantiate(&graph.executable, graph.graph, 0), "cuGraphInstantiate");
  ++graphsBuilt_;
  return {};
}

Result<void> CudaPlayer::update(Graph &graph) {
  std::vector<void *> pointers;
  for (size_t i = 0; i < plan_.launches.size(); ++i) {
    const Launch &now = plan_.launches[i], &was = graph.launches[i];
    bool same = std::memcmp(now.grid, was.grid, sizeof now.grid) == 0 &&
                std::memcmp(now.block, was.block, sizeof now.block) == 0 &&
                std::memcmp(&now.position, &was.position, sizeof now.position) == 0 &&
                now.dynamicSharedBytes == was.dynamicSharedBytes &&
                std::equal(plan_.arguments.begin() + now.firstArgument,
                           plan_.arguments.begin() + now.firstArgument + now.argumentCount,
                           graph.arguments.begin() + was.firstArgument);
    if (same)
      continue;
    parametersOf(now, pointers);
    CuKernelNodeParams params = nodeParams(now, pointers);
    PEWTER_CUDA(setKernelNode(graph.executable, graph.nodes[i], &params), "cuGraphExecKernelNodeSetParams");
  }
  // Not in the loop: the parts of a ragged dispatch have their arguments in common, and each compares them.
  graph.launches = plan_.launches;
  graph.arguments = plan_.arguments;
  ++graphsReused_;
  return {};
}

void CudaPlayer::destroy(Graph &graph) {
  if (graph.executable)
    gpu_->driver.destroyGraphExec(graph.executable);
  if (graph.graph)
    gpu_->driver.destroyGraph(graph.graph);
}

Result<void> CudaPlayer::launchGraph() {
  Hash128 shape = plan_.shape();
  auto found = std::find_if(graphs_.begin(), graphs_.end(), [&](const Graph &g) { return g.shape == shape; });
  if (found == graphs_.end()) {
    if (graphs_.size() == kMostGraphs) {
      PEWTER_TRY_VOID(synchronize()); // the oldest may be running
      destroy(graphs_.back());
      graphs_.pop_back();
    }
    graphs_.emplace_front();
    graphs_.front().shape = shape;
    if (Result<void> built = build(graphs_.front()); !built) {
      destroy(graphs_.front());
      graphs_.pop_front();
      return built;
    }
    graphs_.front().launches = plan_.launches;
    graphs_.front().arguments = plan_.arguments;
  } else {
    graphs_.splice(graphs_.begin(), graphs_, found);
    PEWTER_TRY_VOID(update(graphs_.front()));
  }
  PEWTER_CUDA(launchGraph(graphs_.front().executable, stream_), "cuGraphLaunch");
  return {};
}

} // namespace pewter::cuda
