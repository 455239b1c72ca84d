// SPDX-License-Identifier: Apache-2.0
//
// Context: the long-lived Metal objects: device, queue, and the kernel libraries: one with fast math,
// one strict, and optionally one that somebody built before. Created once and shared by every
// sequence. A library is compiled at its first use and kept.
//
//   PEWTER_TRY(auto context, Context::create({.math = MathMode::Strict}));
//
// Thread safe.
#pragma once
#include "base/Error.h"
#include <Metal/Metal.hpp>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

namespace pewter::muse {

enum class MathMode { Fast, Strict };
std::string_view nameOf(MathMode mode);

/// Kernels exist in two shapes: one SIMD group per threadgroup, for devices that run a SIMD group as
/// one vector loop, and several, for GPUs.
enum class Geometry { Automatic, Cpu, Gpu };

struct ContextOptions {
  MathMode math = MathMode::Fast;
  std::string device = {};  ///< Part of a device's name, any case; "" is the system's default.
  Geometry geometry = Geometry::Automatic;
  /// A .metallib to look kernels up in first.
  std::optional<std::filesystem::path> prebuiltLibrary = {};
  double waitSeconds = 300; ///< How long a command buffer may take.
  /// Wait inside waitUntilCompleted, so that a device which computes on the host can use this thread.
  /// Nothing: exactly where the device is such a one.
  std::optional<bool> lendThread = {};
};

/// Bytes to copy from a place in one buffer to a place in another.
struct Copy {
  MTL::Buffer *from;
  uint64_t fromOffset;
  MTL::Buffer *to;
  uint64_t toOffset, bytes;
};

class Context {
public:
  static Result<std::shared_ptr<Context>> create(ContextOptions options);

  MTL::Device *device() const { return device_.get(); }
  MTL::CommandQueue *queue() const { return queue_.get(); }
  const ContextOptions &options() const { return options_; }
  Geometry geometry() const { return geometry_; }
  bool unifiedMemory() const { return device_->hasUnifiedMemory(); }
  std::string deviceName() const;

  /// The library of a mode, compiled at the first call.
  Result<MTL::Library *> library(MathMode mode);
  MTL::Library *prebuilt() const { return prebuilt_.get(); }

  /// Memory that the host and the device reach.
  Result<NS::SharedPtr<MTL::Buffer>> allocate(uint64_t bytes, std::string_view label) const;
  /// The device's own memory where it has some; else as allocate().
  Result<NS::SharedPtr<MTL::Buffer>> allocateForDevice(uint64_t bytes, std::string_view label) const;
  /// What the host has filled, where the device reads it best: itself, or a copy in the device's memory.
  Result<NS::SharedPtr<MTL::Buffer>> settled(NS::SharedPtr<MTL::Buffer> buffer) const;
  /// Copies in order, and waits: the host by itself where it reaches all memory.
  Result<void> copy(std::span<const Copy> copies) const;
  Result<void> copy(std::initializer_list<Copy> copies) const { return copy(std::span(copies.begin(), copies.size())); }

  /// Waits until a committed buffer has ended, at most options().waitSeconds. An error when it failed
  /// or did not end: then it names seconds, status and label, and the buffer is left alone.
  Result<void> wait(MTL::CommandBuffer *buffer) const;

private:
  explicit Context(ContextOptions options) : options_(std::move(options)) {}

  ContextOptions options_;
  Geometry geometry_ = Geometry::Cpu;
  bool lendThread_ = false;
  NS::SharedPtr<MTL::Device> device_;
  NS::SharedPtr<MTL::CommandQueue> queue_;
  NS::SharedPtr<MTL::Library> prebuilt_;
  std::mutex mutex_;
  NS::SharedPtr<MTL::Library> libraries_[2]; ///< By MathMode.
};

/// The engine's kernels as one source text.
std::string kernelSource();

} // namespace pewter::muse
