// SPDX-License-Identifier: Apache-2.0
//
// ComputePipelineState: a function made ready for one device, and what it was made from.
#pragma once
#include "../Foundation/Foundation.hpp"
#include "MTLAllocation.hpp"
#include "MTLDefines.hpp"
#include "MTLPipeline.hpp"
#include "MTLTypes.hpp"

namespace MTL {

class ComputePipelineDescriptor;
class ComputePipelineReflection;
class ComputePipelineState;
class Device;
class Function;
class FunctionHandle;
class LinkedFunctions;
class PipelineBufferDescriptorArray;
class VisibleFunctionTable;
class VisibleFunctionTableDescriptor;

/// The bindings of a kernel.
class _MTL_EXPORT ComputePipelineReflection : public NS::Referencing<ComputePipelineReflection> {
public:
  static ComputePipelineReflection *alloc();
  ComputePipelineReflection *init();
  NS::Array *arguments() const;
  NS::Array *bindings() const;
};

/// What a pipeline state is made from.
class _MTL_EXPORT ComputePipelineDescriptor : public NS::Copying<ComputePipelineDescriptor> {
public:
  static ComputePipelineDescriptor *alloc();
  ComputePipelineDescriptor *init();
  NS::Array *binaryArchives() const;
  void setBinaryArchives(const NS::Array *binaryArchives);
  PipelineBufferDescriptorArray *buffers() const;
  Function *computeFunction() const;
  void setComputeFunction(const Function *computeFunction);
  NS::Array *insertLibraries() const;
  void setInsertLibraries(const NS::Array *insertLibraries);
  NS::String *label() const;
  void setLabel(const NS::String *label);
  LinkedFunctions *linkedFunctions() const;
  void setLinkedFunctions(const LinkedFunctions *linkedFunctions);
  NS::UInteger maxCallStackDepth() const;
  void setMaxCallStackDepth(NS::UInteger maxCallStackDepth);
  NS::UInteger maxTotalThreadsPerThreadgroup() const;
  void setMaxTotalThreadsPerThreadgroup(NS::UInteger maxTotalThreadsPerThreadgroup);
  NS::Array *preloadedLibraries() const;
  void setPreloadedLibraries(const NS::Array *preloadedLibraries);
  Size requiredThreadsPerThreadgroup() const;
  void setRequiredThreadsPerThreadgroup(Size requiredThreadsPerThreadgroup);
  void reset();
  ShaderValidation shaderValidation() const;
  void setShaderValidation(ShaderValidation shaderValidation);
  bool supportAddingBinaryFunctions() const;
  void setSupportAddingBinaryFunctions(bool supportAddingBinaryFunctions);
  bool supportIndirectCommandBuffers() const;
  void setSupportIndirectCommandBuffers(bool supportIndirectCommandBuffers);
  bool threadGroupSizeIsMultipleOfThreadExecutionWidth() const;
  void setThreadGroupSizeIsMultipleOfThreadExecutionWidth(
      bool threadGroupSizeIsMultipleOfThreadExecutionWidth);
};

/// A kernel compiled for a device. Immutable; any thread.
class _MTL_EXPORT ComputePipelineState : public NS::Referencing<ComputePipelineState, Allocation> {
public:
  Device *device() const;
  FunctionHandle *functionHandle(const NS::String *name);
  FunctionHandle *functionHandle(const Function *function);
  ResourceID gpuResourceID() const;
  NS::String *label() const;
  NS::UInteger maxTotalThreadsPerThreadgroup() const;
  ComputePipelineState *newComputePipelineState(const NS::Array *functions, NS::Error **error);
  ComputePipelineState *
  newComputePipelineStateWithBinaryFunctions(const NS::Array *additionalBinaryFunctions,
                                             NS::Error **error);
  VisibleFunctionTable *newVisibleFunctionTable(const VisibleFunctionTableDescriptor *descriptor);
  ComputePipelineReflection *reflection() const;
  Size requiredThreadsPerThreadgroup() const;
  ShaderValidation shaderValidation() const;
  NS::UInteger staticThreadgroupMemoryLength() const;
  bool supportIndirectCommandBuffers() const;
  NS::UInteger threadExecutionWidth() const;
};

} // namespace MTL
