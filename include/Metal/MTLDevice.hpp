// SPDX-License-Identifier: Apache-2.0
//
// Device: where everything starts.
#pragma once
#include "../Foundation/Foundation.hpp"
#include "../dispatch/dispatch.h"
#include "MTLArgument.hpp"
#include "MTLDataType.hpp"
#include "MTLDefines.hpp"
#include "MTLPixelFormat.hpp"
#include "MTLResource.hpp"
#include "MTLTexture.hpp"
#include "MTLTypes.hpp"
#include <cstdint>
#include <functional>

namespace MTL {

class Architecture;
class ArgumentDescriptor;
class ArgumentEncoder;
class BinaryArchive;
class BinaryArchiveDescriptor;
class Buffer;
class BufferBinding;
class CommandQueue;
class CommandQueueDescriptor;
class CompileOptions;
class ComputePipelineDescriptor;
class ComputePipelineReflection;
class ComputePipelineState;
class CounterSampleBuffer;
class CounterSampleBufferDescriptor;
class Device;
class DynamicLibrary;
class Event;
class Fence;
class Function;
class FunctionHandle;
class Heap;
class HeapDescriptor;
class IndirectCommandBuffer;
class IndirectCommandBufferDescriptor;
class Library;
class LogState;
class LogStateDescriptor;
class ResidencySet;
class ResidencySetDescriptor;
class SamplerDescriptor;
class SamplerState;
class SharedEvent;
class SharedEventHandle;
class Texture;
class TextureDescriptor;

enum GPUFamily : NS::Integer {
  GPUFamilyApple1 = 1001,
  GPUFamilyApple2 = 1002,
  GPUFamilyApple3 = 1003,
  GPUFamilyApple4 = 1004,
  GPUFamilyApple5 = 1005,
  GPUFamilyApple6 = 1006,
  GPUFamilyApple7 = 1007,
  GPUFamilyApple8 = 1008,
  GPUFamilyApple9 = 1009,
  GPUFamilyApple10 = 1010,
  GPUFamilyMac1 = 2001,
  GPUFamilyMac2 = 2002,
  GPUFamilyCommon1 = 3001,
  GPUFamilyCommon2 = 3002,
  GPUFamilyCommon3 = 3003,
  GPUFamilyMacCatalyst1 = 4001,
  GPUFamilyMacCatalyst2 = 4002,
  GPUFamilyMetal3 = 5001,
  GPUFamilyMetal4 = 5002,
};

enum FeatureSet : NS::UInteger {
  FeatureSet_iOS_GPUFamily1_v1 = 0,
  FeatureSet_iOS_GPUFamily2_v1 = 1,
  FeatureSet_iOS_GPUFamily1_v2 = 2,
  FeatureSet_iOS_GPUFamily2_v2 = 3,
  FeatureSet_iOS_GPUFamily3_v1 = 4,
  FeatureSet_iOS_GPUFamily1_v3 = 5,
  FeatureSet_iOS_GPUFamily2_v3 = 6,
  FeatureSet_iOS_GPUFamily3_v2 = 7,
  FeatureSet_iOS_GPUFamily1_v4 = 8,
  FeatureSet_iOS_GPUFamily2_v4 = 9,
  FeatureSet_iOS_GPUFamily3_v3 = 10,
  FeatureSet_iOS_GPUFamily4_v1 = 11,
  FeatureSet_iOS_GPUFamily1_v5 = 12,
  FeatureSet_iOS_GPUFamily2_v5 = 13,
  FeatureSet_iOS_GPUFamily3_v4 = 14,
  FeatureSet_iOS_GPUFamily4_v2 = 15,
  FeatureSet_iOS_GPUFamily5_v1 = 16,
  FeatureSet_macOS_GPUFamily1_v1 = 10000,
  FeatureSet_OSX_GPUFamily1_v1 = 10000,
  FeatureSet_macOS_GPUFamily1_v2 = 10001,
  FeatureSet_OSX_GPUFamily1_v2 = 10001,
  FeatureSet_macOS_ReadWriteTextureTier2 = 10002,
  FeatureSet_OSX_ReadWriteTextureTier2 = 10002,
  FeatureSet_macOS_GPUFamily1_v3 = 10003,
  FeatureSet_macOS_GPUFamily1_v4 = 10004,
  FeatureSet_macOS_GPUFamily2_v1 = 10005,
  FeatureSet_watchOS_GPUFamily1_v1 = 20000,
  FeatureSet_WatchOS_GPUFamily1_v1 = 20000,
  FeatureSet_watchOS_GPUFamily2_v1 = 20001,
  FeatureSet_WatchOS_GPUFamily2_v1 = 20001,
  FeatureSet_tvOS_GPUFamily1_v1 = 30000,
  FeatureSet_TVOS_GPUFamily1_v1 = 30000,
  FeatureSet_tvOS_GPUFamily1_v2 = 30001,
  FeatureSet_tvOS_GPUFamily1_v3 = 30002,
  FeatureSet_tvOS_GPUFamily2_v1 = 30003,
  FeatureSet_tvOS_GPUFamily1_v4 = 30004,
  FeatureSet_tvOS_GPUFamily2_v2 = 30005,
};

enum DeviceLocation : NS::UInteger {
  DeviceLocationBuiltIn = 0,
  DeviceLocationSlot = 1,
  DeviceLocationExternal = 2,
  DeviceLocationUnspecified = NS::UIntegerMax,
};

using PipelineOption = NS::UInteger;
enum : PipelineOption {
  PipelineOptionNone = 0,
  PipelineOptionArgumentInfo = 1,
  PipelineOptionBindingInfo = 1,
  PipelineOptionBufferTypeInfo = 1 << 1,
  PipelineOptionFailOnBinaryArchiveMiss = 1 << 2,
};

enum ReadWriteTextureTier : NS::UInteger {
  ReadWriteTextureTierNone = 0,
  ReadWriteTextureTier1 = 1,
  ReadWriteTextureTier2 = 2,
};

enum ArgumentBuffersTier : NS::UInteger {
  ArgumentBuffersTier1 = 0,
  ArgumentBuffersTier2 = 1,
};

enum SparseTextureRegionAlignmentMode : NS::UInteger {
  SparseTextureRegionAlignmentModeOutward = 0,
  SparseTextureRegionAlignmentModeInward = 1,
};

enum CounterSamplingPoint : NS::UInteger {
  CounterSamplingPointAtStageBoundary = 0,
  CounterSamplingPointAtDrawBoundary = 1,
  CounterSamplingPointAtDispatchBoundary = 2,
  CounterSamplingPointAtTileDispatchBoundary = 3,
  CounterSamplingPointAtBlitBoundary = 4,
};

struct SizeAndAlign {
  NS::UInteger size;
  NS::UInteger align;
} _MTL_PACKED;

using DeviceNotificationName = NS::String *;
using DeviceNotificationHandlerFunction =
    std::function<void(Device *pDevice, DeviceNotificationName notifyName)>;
using AutoreleasedComputePipelineReflection = ComputePipelineReflection *;
using NewLibraryCompletionHandlerFunction = std::function<void(Library *, NS::Error *)>;
using NewComputePipelineStateCompletionHandlerFunction =
    std::function<void(ComputePipelineState *, NS::Error *)>;
using NewComputePipelineStateWithReflectionCompletionHandlerFunction =
    std::function<void(ComputePipelineState *, ComputePipelineReflection *, NS::Error *)>;
#ifdef __BLOCKS__
using NewLibraryCompletionHandler = void (^)(Library *, NS::Error *);
using NewComputePipelineStateCompletionHandler = void (^)(ComputePipelineState *, NS::Error *);
using NewComputePipelineStateWithReflectionCompletionHandler = void (^)(ComputePipelineState *,
                                                                        ComputePipelineReflection *,
                                                                        NS::Error *);
#endif
using Timestamp = std::uint64_t;

_MTL_CONST(DeviceNotificationName, DeviceWasAddedNotification);
_MTL_CONST(DeviceNotificationName, DeviceRemovalRequestedNotification);
_MTL_CONST(DeviceNotificationName, DeviceWasRemovedNotification);
_MTL_CONST(NS::ErrorUserInfoKey, CommandBufferEncoderInfoErrorKey);

/// The device of this machine that runs kernels best: a GPU where there is one, else the CPU.
/// Retained.
_MTL_EXPORT Device *CreateSystemDefaultDevice();
/// Every device that computes. Retained.
_MTL_EXPORT NS::Array *CopyAllDevices();
/// The same; devices do not come and go here, so the handler is never called.
_MTL_EXPORT NS::Array *CopyAllDevicesWithObserver(NS::Object **pOutObserver,
                                                  const DeviceNotificationHandlerFunction &handler);
_MTL_EXPORT void RemoveDeviceObserver(const NS::Object *pObserver);

/// One member of a hand-described argument buffer.
class _MTL_EXPORT ArgumentDescriptor : public NS::Copying<ArgumentDescriptor> {
public:
  static ArgumentDescriptor *alloc();
  static ArgumentDescriptor *argumentDescriptor();
  ArgumentDescriptor *init();
  BindingAccess access() const;
  void setAccess(BindingAccess access);
  NS::UInteger arrayLength() const;
  void setArrayLength(NS::UInteger arrayLength);
  NS::UInteger constantBlockAlignment() const;
  void setConstantBlockAlignment(NS::UInteger constantBlockAlignment);
  DataType dataType() const;
  void setDataType(DataType dataType);
  NS::UInteger index() const;
  void setIndex(NS::UInteger index);
  TextureType textureType() const;
  void setTextureType(TextureType textureType);
};

/// Names the hardware.
class _MTL_EXPORT Architecture : public NS::Copying<Architecture> {
public:
  static Architecture *alloc();
  Architecture *init();
  NS::String *name() const;
};

/// A processor that runs kernels. Any thread.
class _MTL_EXPORT Device : public NS::Referencing<Device> {
public:
  Architecture *architecture() const;
  bool areBarycentricCoordsSupported() const;
  bool areRasterOrderGroupsSupported() const;
  ArgumentBuffersTier argumentBuffersSupport() const;
  bool barycentricCoordsSupported() const;
  NS::Array *counterSets() const;
  NS::UInteger currentAllocatedSize() const;
  FunctionHandle *functionHandle(const Function *function);
  bool hasUnifiedMemory() const;
  bool headless() const;
  bool isHeadless() const;
  SizeAndAlign heapBufferSizeAndAlign(NS::UInteger length, ResourceOptions options);
  SizeAndAlign heapTextureSizeAndAlign(const TextureDescriptor *desc);
  DeviceLocation location() const;
  NS::UInteger locationNumber() const;
  bool lowPower() const;
  bool isLowPower() const;
  NS::UInteger maxArgumentBufferSamplerCount() const;
  NS::UInteger maxBufferLength() const;
  NS::UInteger maximumConcurrentCompilationTaskCount() const;
  NS::UInteger maxThreadgroupMemoryLength() const;
  Size maxThreadsPerThreadgroup() const;
  uint64_t maxTransferRate() const;
  NS::UInteger minimumLinearTextureAlignmentForPixelFormat(PixelFormat format);
  NS::UInteger minimumTextureBufferAlignmentForPixelFormat(PixelFormat format);
  NS::String *name() const;
  ArgumentEncoder *newArgumentEncoder(const NS::Array *arguments);
  ArgumentEncoder *newArgumentEncoder(const BufferBinding *bufferBinding);
  BinaryArchive *newBinaryArchive(const BinaryArchiveDescriptor *descriptor, NS::Error **error);
  Buffer *newBuffer(NS::UInteger length, ResourceOptions options);
  Buffer *newBuffer(const void *pointer, NS::UInteger length, ResourceOptions options);
  Buffer *newBuffer(NS::UInteger length, ResourceOptions options,
                    SparsePageSize placementSparsePageSize);
  CommandQueue *newCommandQueue();
  CommandQueue *newCommandQueue(NS::UInteger maxCommandBufferCount);
  CommandQueue *newCommandQueue(const CommandQueueDescriptor *descriptor);
  ComputePipelineState *newComputePipelineState(const Function *computeFunction, NS::Error **error);
  void newComputePipelineState(
      const Function *pFunction,
      const NewComputePipelineStateCompletionHandlerFunction &completionHandler);
  void newComputePipelineState(
      const Function *pFunction, PipelineOption options,
      const NewComputePipelineStateWithReflectionCompletionHandlerFunction &completionHandler);
  ComputePipelineState *
  newComputePipelineState(const Function *computeFunction, PipelineOption options,
                          const AutoreleasedComputePipelineReflection *reflection,
                          NS::Error **error);
  void newComputePipelineState(
      const ComputePipelineDescriptor *pDescriptor, PipelineOption options,
      const NewComputePipelineStateWithReflectionCompletionHandlerFunction &completionHandler);
  ComputePipelineState *
  newComputePipelineState(const ComputePipelineDescriptor *descriptor, PipelineOption options,
                          const AutoreleasedComputePipelineReflection *reflection,
                          NS::Error **error);
  CounterSampleBuffer *newCounterSampleBuffer(const CounterSampleBufferDescriptor *descriptor,
                                              NS::Error **error);
  Library *newDefaultLibrary();
  Library *newDefaultLibrary(const NS::Bundle *bundle, NS::Error **error);
  DynamicLibrary *newDynamicLibrary(const NS::URL *url, NS::Error **error);
  DynamicLibrary *newDynamicLibrary(const Library *library, NS::Error **error);
  Event *newEvent();
  Fence *newFence();
  Heap *newHeap(const HeapDescriptor *descriptor);
  IndirectCommandBuffer *newIndirectCommandBuffer(const IndirectCommandBufferDescriptor *descriptor,
                                                  NS::UInteger maxCount, ResourceOptions options);
  Library *newLibrary(const NS::URL *url, NS::Error **error);
  Library *newLibrary(const NS::String *filepath, NS::Error **error);
  Library *newLibrary(const dispatch_data_t data, NS::Error **error);
  Library *newLibrary(const NS::String *source, const CompileOptions *options, NS::Error **error);
  void newLibrary(const NS::String *pSource, const CompileOptions *pOptions,
                  const NewLibraryCompletionHandlerFunction &completionHandler);
  LogState *newLogState(const LogStateDescriptor *descriptor, NS::Error **error);
  ResidencySet *newResidencySet(const ResidencySetDescriptor *desc, NS::Error **error);
  SamplerState *newSamplerState(const SamplerDescriptor *descriptor);
  SharedEvent *newSharedEvent();
  SharedEvent *newSharedEvent(const SharedEventHandle *sharedEventHandle);
  Texture *newTexture(const TextureDescriptor *descriptor);
  uint32_t peerCount() const;
  uint64_t peerGroupID() const;
  uint32_t peerIndex() const;
  uint64_t queryTimestampFrequency();
  bool rasterOrderGroupsSupported() const;
  ReadWriteTextureTier readWriteTextureSupport() const;
  uint64_t recommendedMaxWorkingSetSize() const;
  uint64_t registryID() const;
  bool removable() const;
  bool isRemovable() const;
  void sampleTimestamps(Timestamp *cpuTimestamp, Timestamp *gpuTimestamp);
  bool shouldMaximizeConcurrentCompilation() const;
  void setShouldMaximizeConcurrentCompilation(bool shouldMaximizeConcurrentCompilation);
  bool supports32BitFloatFiltering() const;
  bool supports32BitMSAA() const;
  bool supportsBCTextureCompression() const;
  bool supportsCounterSampling(CounterSamplingPoint samplingPoint);
  bool supportsDynamicLibraries() const;
  bool supportsFamily(GPUFamily gpuFamily);
  bool supportsFeatureSet(FeatureSet featureSet);
  bool supportsFunctionPointers() const;
  bool supportsPrimitiveMotionBlur() const;
  bool supportsPullModelInterpolation() const;
  bool supportsQueryTextureLOD() const;
  bool supportsRaytracing() const;
  bool supportsShaderBarycentricCoordinates() const;
  bool supportsTextureSampleCount(NS::UInteger sampleCount);

  /// Wraps memory of the caller; `deallocator` is called when the device is done with it.
  Buffer *newBuffer(const void *pointer, NS::UInteger length, ResourceOptions options,
                    const std::function<void(void *, NS::UInteger)> &deallocator);
#ifdef __BLOCKS__
  Buffer *newBuffer(const void *pointer, NS::UInteger length, ResourceOptions options,
                    void (^deallocator)(void *, NS::UInteger)) {
    if (!deallocator)
      return newBuffer(pointer, length, options);
    return newBuffer(pointer, length, options,
                     std::function<void(void *, NS::UInteger)>(
                         NS::detail::CopiedBlock<void(void *, NS::UInteger)>(deallocator)));
  }
  void newLibrary(const NS::String *source, const CompileOptions *options,
                  NewLibraryCompletionHandler completionHandler) {
    newLibrary(source, options,
               NewLibraryCompletionHandlerFunction(
                   NS::detail::CopiedBlock<void(Library *, NS::Error *)>(completionHandler)));
  }
  void newComputePipelineState(const Function *computeFunction,
                               NewComputePipelineStateCompletionHandler completionHandler) {
    newComputePipelineState(
        computeFunction,
        NewComputePipelineStateCompletionHandlerFunction(
            NS::detail::CopiedBlock<void(ComputePipelineState *, NS::Error *)>(completionHandler)));
  }
  void newComputePipelineState(
      const Function *computeFunction, PipelineOption options,
      NewComputePipelineStateWithReflectionCompletionHandler completionHandler) {
    newComputePipelineState(
        computeFunction, options,
        NewComputePipelineStateWithReflectionCompletionHandlerFunction(
            NS::detail::CopiedBlock<void(ComputePipelineState *, ComputePipelineReflection *,
                                         NS::Error *)>(completionHandler)));
  }
  void newComputePipelineState(
      const ComputePipelineDescriptor *descriptor, PipelineOption options,
      NewComputePipelineStateWithReflectionCompletionHandler completionHandler) {
    newComputePipelineState(
        descriptor, options,
        NewComputePipelineStateWithReflectionCompletionHandlerFunction(
            NS::detail::CopiedBlock<void(ComputePipelineState *, ComputePipelineReflection *,
                                         NS::Error *)>(completionHandler)));
  }
#endif
};

} // namespace MTL
