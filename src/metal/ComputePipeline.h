// SPDX-License-Identifier: Apache-2.0
//
// ComputePipelineState: a device::Pipeline with what an encoder needs of its reflection laid flat.
#pragma once
#include "device/Device.h"
#include "foundation/Object.h"
#include <Metal/MTLComputePipeline.hpp>
#include <Metal/MTLDevice.hpp>
#include <Metal/MTLLinkedFunctions.hpp>
#include <Metal/MTLPipeline.hpp>
#include <array>
#include <string>
#include <vector>

namespace pewter::metal {

class Device;
class BinaryArchive;
class Function;
struct FunctionSet;

/// One argument as an encoder fills it, in the order of the kernel's parameters.
struct PipelineParameter {
  air::ArgumentKind kind = air::ArgumentKind::Builtin;
  uint8_t slot = 0;
  uint8_t slotCount = 1; ///< Textures or samplers in one argument.
  bool used = false;
  bool isFunctionTable = false;
  uint32_t neededBytes = 0; ///< That must be bound; 0 when any length will do.
  uint32_t argument = 0;    ///< Index in the reflection, for messages.
};

class ComputePipelineState final : public MTL::ComputePipelineState {
public:
  ComputePipelineState(Device *device, std::shared_ptr<device::Pipeline> backend);
  const char *className() const override { return "MTLComputePipelineState"; }
  std::string describe() const;

  Device *device;
  std::shared_ptr<device::Pipeline> backend;
  std::vector<PipelineParameter> parameters;
  uint32_t threadgroupMemoryMask = 0; ///< Slots of used threadgroup arguments.
  uint32_t staticThreadgroupBytes = 0;
  uint32_t maxThreads = 1024;
  bool needsFullSimdgroups = false;
  bool supportsIndirectCommandBuffers = false;
  MTL::Size requiredThreads{0, 0, 0};
  MTL::ShaderValidation shaderValidation = MTL::ShaderValidationDefault;
  std::string label;
  std::shared_ptr<const FunctionSet> functionSet;
  /// What this was made from, to make one with more functions; null unless the descriptor asked for it.
  foundation::Ref<MTL::ComputePipelineDescriptor> descriptor;
  foundation::Ref<NS::Array> addedFunctions;
};

class PipelineBufferDescriptor final : public MTL::PipelineBufferDescriptor {
public:
  const char *className() const override { return "MTLPipelineBufferDescriptor"; }
  Root *makeCopy() const override;
  MTL::Mutability mutability = MTL::MutabilityDefault;
};

class PipelineBufferDescriptorArray final : public MTL::PipelineBufferDescriptorArray {
public:
  const char *className() const override { return "MTLPipelineBufferDescriptorArray"; }
  std::array<foundation::Ref<MTL::PipelineBufferDescriptor>, 31> slots;
};

class ComputePipelineDescriptor final : public MTL::ComputePipelineDescriptor {
public:
  const char *className() const override { return "MTLComputePipelineDescriptor"; }
  Root *makeCopy() const override;

  struct Values {
    std::string label;
    foundation::Ref<MTL::Function> computeFunction;
    bool threadGroupSizeIsMultipleOfThreadExecutionWidth = false;
    NS::UInteger maxTotalThreadsPerThreadgroup = 0;
    NS::UInteger maxCallStackDepth = 1;
    MTL::Size requiredThreadsPerThreadgroup{0, 0, 0};
    MTL::ShaderValidation shaderValidation = MTL::ShaderValidationDefault;
    bool supportIndirectCommandBuffers = false;
    bool supportAddingBinaryFunctions = false;
    foundation::Ref<NS::Array> binaryArchives, insertLibraries, preloadedLibraries;
    foundation::Ref<MTL::LinkedFunctions> linkedFunctions;
    foundation::Ref<MTL::PipelineBufferDescriptorArray> buffers;
  } values;
};

class ComputePipelineReflection final : public MTL::ComputePipelineReflection {
public:
  const char *className() const override { return "MTLComputePipelineReflection"; }
  foundation::Ref<NS::Array> bindings, arguments;
};

inline ComputePipelineState *implOf(const MTL::ComputePipelineState *state) {
  return static_cast<ComputePipelineState *>(const_cast<MTL::ComputePipelineState *>(state));
}
inline ComputePipelineDescriptor *implOf(const MTL::ComputePipelineDescriptor *descriptor) {
  return static_cast<ComputePipelineDescriptor *>(
      const_cast<MTL::ComputePipelineDescriptor *>(descriptor));
}

/// Makes the device's pipeline for a descriptor. Every image that is used for it goes into `fill`.
Result<ComputePipelineState *> createPipelineState(Device &device,
                                                   const ComputePipelineDescriptor &descriptor,
                                                   MTL::PipelineOption options,
                                                   BinaryArchive *fill = nullptr,
                                                   const NS::Array *moreFunctions = nullptr);

} // namespace pewter::metal
