// SPDX-License-Identifier: Apache-2.0
//
// GraphEncoder: records groups of dispatches. Dispatches of one group may overlap; between groups
// stands a barrier over all buffers: before every group but the first on a concurrent encoder, and
// none on a serial one, which orders everything anyway. Where work inside a group depends on other
// work of the group, a scoped barrier names the buffers.
//
//   GraphEncoder encoder(*context, {.concurrent = true, .label = "token 7"});
//   encoder.group("qkvg", layer);
//   encoder.dispatch(kernel, {bind(q), bind(x)}, args, groups, threads);
//   PEWTER_TRY_VOID(encoder.finish());  // end, commit, wait
//
// With a profiler each group is a command buffer of its own, committed and waited for, so that the
// device reports its interval; that is for diagnosis, not for speed.
//
// One thread; lives for one command buffer.
#pragma once
#include "muse/PipelineRegistry.h"
#include <initializer_list>
#include <string>
#include <vector>

namespace pewter::muse {

/// A place in a buffer.
struct View {
  MTL::Buffer *buffer = nullptr;
  uint64_t offset = 0;
};

/// What was recorded: for accounting, and for tests of the rules.
struct GraphRecord {
  struct Dispatch {
    std::string kernel;
    uint32_t threads;   ///< Per threadgroup.
    uint64_t groups;    ///< Threadgroups.
  };
  struct Group {
    std::string label;
    int layer; ///< -1 outside of layers.
    std::vector<Dispatch> dispatches;
  };
  std::vector<Group> groups;
  uint32_t dispatches = 0, bufferBarriers = 0, resourceBarriers = 0, commits = 0, waits = 0;
  bool concurrent = false;
  std::vector<std::vector<std::string>> barrierResources; ///< Labels, per scoped barrier.
};

/// One sample per group of a profiled graph; seconds on the device's clock.
struct PhaseSample {
  std::string label;
  int layer;
  double start, end;
};

struct GraphOptions {
  bool concurrent = true;
  const char *label = "graph";
  std::vector<PhaseSample> *profile = nullptr;
  GraphRecord *record = nullptr;
};

class GraphEncoder {
public:
  GraphEncoder(const Context &context, GraphOptions options);
  ~GraphEncoder();
  GraphEncoder(const GraphEncoder &) = delete;
  GraphEncoder &operator=(const GraphEncoder &) = delete;

  void group(const char *label, int layer = -1);
  /// Everything written to these buffers before is visible to what follows in the group.
  void barrier(std::initializer_list<MTL::Buffer *> buffers);

  /// Binds views to slots 0, 1, ..., `constants` to the slot behind them, and launches threadgroups.
  template <class T>
  void dispatch(const Kernel &kernel, std::initializer_list<View> views, const T &constants,
                MTL::Size groups, uint32_t threads) {
    static_assert(std::is_trivially_copyable_v<T>);
    bindAll(kernel, views, &constants, sizeof(T), threads, groups);
    encoder_->dispatchThreadgroups(groups, MTL::Size(threads, 1, 1));
  }
  /// The same with `bytes` of threadgroup memory at index 0.
  template <class T>
  void dispatchWithMemory(const Kernel &kernel, std::initializer_list<View> views, const T &constants,
                          uint32_t bytes, MTL::Size groups, uint32_t threads) {
    static_assert(std::is_trivially_copyable_v<T>);
    bindAll(kernel, views, &constants, sizeof(T), threads, groups);
    encoder_->setThreadgroupMemoryLength((bytes + 15) / 16 * 16, 0);
    encoder_->dispatchThreadgroups(groups, MTL::Size(threads, 1, 1));
  }
  /// The same with one more view in the slot behind the constants.
  template <class T>
  void dispatchWithTail(const Kernel &kernel, std::initializer_list<View> views, const T &constants,
                        View tail, MTL::Size groups, uint32_t threads) {
    static_assert(std::is_trivially_copyable_v<T>);
    bindAll(kernel, views, &constants, sizeof(T), threads, groups);
    encoder_->setBuffer(tail.buffer, tail.offset, views.size() + 1);
    encoder_->dispatchThreadgroups(groups, MTL::Size(threads, 1, 1));
  }
  /// The same with one thread for each of `count` elements; a count of zero records nothing.
  template <class T>
  void dispatch1d(const Kernel &kernel, std::initializer_list<View> views,
                  const T &constants, uint32_t count) {
    if (count == 0)
      return;
    uint32_t threads = std::min(count, 256u);
    bindAll(kernel, views, &constants, sizeof(T), threads, MTL::Size((count + threads - 1) / threads, 1, 1));
    encoder_->dispatchThreads(MTL::Size(count, 1, 1), MTL::Size(threads, 1, 1));
  }

  /// Ends encoding and commits; the caller waits, or lets a later buffer of the queue be waited for.
  NS::SharedPtr<MTL::CommandBuffer> commit();
  /// Ends, commits and waits.
  Result<void> finish();
  uint32_t groups() const { return groups_; }

private:
  void begin();
  void endProfiledGroup();
  void bindAll(const Kernel &kernel, std::initializer_list<View> views, const void *constants, size_t size,
               uint32_t threads, MTL::Size groups);

  const Context &context_;
  GraphOptions options_;
  NS::SharedPtr<NS::AutoreleasePool> pool_;
  NS::SharedPtr<MTL::CommandBuffer> buffer_;
  MTL::ComputeCommandEncoder *encoder_ = nullptr;
  uint32_t groups_ = 0;
  const char *groupLabel_ = "";
  int groupLayer_ = -1;
  std::optional<Error> profileError_;
};

} // namespace pewter::muse
