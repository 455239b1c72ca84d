// SPDX-License-Identifier: Apache-2.0
//
// CudaPlayer: plays command streams on a CUDA stream. The kernels between two host actions form a plan
// (LaunchPlan.h); a plan of more than a few launches is played as a CUDA graph: a chain whose neighbours
// may overlap (a kernel's blocks come while the one before ends, and wait for it where
// codegen/transform/PlaceWait.h says), or, with branches, one whose edges are the encoders' barriers.
// Graphs are kept by the plan's shape: the next plan of the same shape only updates the nodes whose
// arguments changed. One thread at a time.
#pragma once
#include "cuda/LaunchPlan.h"
#include "device/HostQueue.h"
#include <list>

namespace pewter::cuda {

class CudaPlayer final : public device::StreamPlayer {
public:
  explicit CudaPlayer(std::shared_ptr<Gpu> gpu) : gpu_(std::move(gpu)) {}
  ~CudaPlayer() override;
  void play(const device::CommandStream &stream, device::Completion &completion) override;

  /// For tests and benchmarks: how often a graph was built, and how often one was used again.
  uint64_t graphsBuilt() const { return graphsBuilt_; }
  uint64_t graphsReused() const { return graphsReused_; }

private:
  struct Graph {
    Hash128 shape;
    CuGraph graph = nullptr;
    CuGraphExec executable = nullptr;
    std::vector<CuGraphNode> nodes; ///< One for each launch.
    std::vector<Launch> launches;   ///< As last set.
    std::vector<uint64_t> arguments;
  };
  static constexpr size_t kMostGraphs = 16;
  static constexpr size_t kLeastForGraph = 4;

  Result<void> setUp();
  Result<void> playCommands(const device::CommandStream &stream);
  Result<void> flush();       ///< Puts the plan on the stream and clears it.
  Result<void> uploadConstants();
  Result<void> launchDirectly();
  Result<void> launchGraph();
  Result<void> build(Graph &graph);
  Result<void> update(Graph &graph);
  void destroy(Graph &graph);
  Result<void> copy(const device::CopyBufferCommand &command);
  Result<device::Size3> readCounts(uint64_t address);
  Result<void> synchronize();
  /// Fills `pointers` with the addresses of the launch's parameters.
  void parametersOf(const Launch &launch, std::vector<void *> &pointers);

  std::shared_ptr<Gpu> gpu_;
  CuStream stream_ = nullptr;
  CuEvent begin_ = nullptr, end_ = nullptr;
  LaunchPlan plan_;
  LaunchPlanner planner_{plan_};
  std::list<Graph> graphs_; ///< Most recently used first.
  CuAddress constants_ = 0; ///< On the GPU.
  void *staging_ = nullptr; ///< Pinned.
  uint64_t constantsCapacity_ = 0, constantsUsed_ = 0;
  bool isLost_ = false;
  uint64_t graphsBuilt_ = 0, graphsReused_ = 0;
};

} // namespace pewter::cuda
