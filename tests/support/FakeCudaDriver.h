// SPDX-License-Identifier: Apache-2.0
//
// A CUDA driver table for tests on machines without a GPU: memory is host memory, copies and fills
// happen at once, kernels are recorded with their parameters, graphs keep their nodes and edges. Each
// call is logged; a test can make one call fail. One at a time; not thread safe beyond one queue.
#pragma once
#include "cuda/Driver.h"
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace pewter::cuda::testing {

struct FakeLaunch {
  std::string kernel;
  unsigned grid[3], block[3], sharedBytes;
  std::vector<uint64_t> arguments; ///< The u64 parameters, without the grid.
};

struct FakeGraphNode {
  FakeLaunch launch; ///< kernel is empty for an empty node.
  std::vector<FakeGraphNode *> waitsFor;
  bool mayOverlap = false; ///< The last of those edges is programmatic.
};

/// State of the fake; reset by install().
struct FakeCuda {
  std::vector<std::string> calls;       ///< Names, in order.
  std::vector<FakeLaunch> launches;     ///< In the order of execution, from graphs too.
  std::vector<const FakeGraphNode *> lastGraph; ///< Nodes of the graph launched last.
  std::map<std::string, int> failures;  ///< Call -> result that it gives from now on.
  unsigned parameterCount = 0;          ///< Number of u64 parameters of every kernel.
  int deviceCount = 1;
  int maxThreads = 1024;                ///< In a block, of every kernel.

  size_t count(const std::string &call) const;
};

/// Puts the fake in place for the life of the object.
class FakeCudaScope {
public:
  FakeCudaScope();
  ~FakeCudaScope();
  FakeCuda &fake();
};

} // namespace pewter::cuda::testing
