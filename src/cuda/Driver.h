// SPDX-License-Identifier: Apache-2.0
//
// The CUDA driver library as a table of functions, opened with dlopen: neither the toolkit nor its
// headers are needed to build or to run. The declarations are ours and hold for CUDA 12 and 13. Tests
// put a table of their own in place (setDriverForTesting). Any thread.
#pragma once
#include "base/Error.h"
#include <cstddef>
#include <cstdint>

namespace pewter::cuda {

using CuResult = int; ///< 0 is success.
using CuDevice = int;
using CuAddress = uint64_t;
struct CuContextTag;
using CuContext = CuContextTag *;
struct CuModuleTag;
using CuModule = CuModuleTag *;
struct CuFunctionTag;
using CuFunction = CuFunctionTag *;
struct CuStreamTag;
using CuStream = CuStreamTag *;
struct CuEventTag;
using CuEvent = CuEventTag *;
struct CuGraphTag;
using CuGraph = CuGraphTag *;
struct CuGraphNodeTag;
using CuGraphNode = CuGraphNodeTag *;
struct CuGraphExecTag;
using CuGraphExec = CuGraphExecTag *;

/// Parameters of a kernel node, second version of the driver's structure.
struct CuKernelNodeParams {
  CuFunction function;
  unsigned gridX, gridY, gridZ;
  unsigned blockX, blockY, blockZ;
  unsigned sharedBytes;
  void **kernelParams; ///< One pointer for each parameter.
  void **extra;
  void *kernel;
  CuContext context;
};

/// What an edge of a graph stands for. A programmatic one lets the second kernel's blocks come while the first
/// ends; the second waits for all of the first where it says so (griddepcontrol.wait).
struct CuGraphEdge {
  uint8_t fromPort, toPort, type;
  uint8_t reserved[5];
};
inline constexpr CuGraphEdge kProgrammaticEdge = {1, 0, 1, {}};

enum : int {
  kAttributeMultiprocessorCount = 16,
  kAttributeMajor = 75,
  kAttributeMinor = 76,
  kAttributeMaxSharedOptIn = 97,
  kFunctionMaxThreads = 0,
  kFunctionMaxDynamicShared = 8,
  kJitMaxRegisters = 0,
  kJitErrorLog = 5,
  kJitErrorLogBytes = 6,
};
enum : unsigned {
  kHostAllocPortable = 1,
  kHostAllocMapped = 2,
  kHostRegisterPortable = 1,
  kHostRegisterMapped = 2,
  kStreamNonBlocking = 1,
};
enum : CuResult { kOutOfMemory = 2 };

/// name in the library, member, parameters
#define PEWTER_CUDA_FUNCTIONS(FUNCTION)                                                             \
  FUNCTION(cuInit, init, (unsigned flags))                                                          \
  FUNCTION(cuGetErrorName, errorName, (CuResult, const char **))                                    \
  FUNCTION(cuGetErrorString, errorString, (CuResult, const char **))                                \
  FUNCTION(cuDeviceGetCount, deviceCount, (int *))                                                  \
  FUNCTION(cuDeviceGet, deviceGet, (CuDevice *, int))                                               \
  FUNCTION(cuDeviceGetName, deviceName, (char *, int, CuDevice))                                    \
  FUNCTION(cuDeviceGetAttribute, deviceAttribute, (int *, int, CuDevice))                           \
  FUNCTION(cuDeviceTotalMem_v2, deviceMemory, (size_t *, CuDevice))                                 \
  FUNCTION(cuDevicePrimaryCtxRetain, retainContext, (CuContext *, CuDevice))                        \
  FUNCTION(cuCtxSetCurrent, setContext, (CuContext))                                                \
  FUNCTION(cuMemAlloc_v2, allocate, (CuAddress *, size_t))                                          \
  FUNCTION(cuMemFree_v2, release, (CuAddress))                                                      \
  FUNCTION(cuMemHostAlloc, allocateHost, (void **, size_t, unsigned))                               \
  FUNCTION(cuMemFreeHost, releaseHost, (void *))                                                    \
  FUNCTION(cuMemHostRegister_v2, registerHost, (void *, size_t, unsigned))                          \
  FUNCTION(cuMemHostUnregister, unregisterHost, (void *))                                           \
  FUNCTION(cuMemHostGetDevicePointer_v2, hostDeviceAddress, (CuAddress *, void *, unsigned))        \
  FUNCTION(cuMemcpyHtoDAsync_v2, copyToDevice, (CuAddress, const void *, size_t, CuStream))         \
  FUNCTION(cuMemcpyDtoHAsync_v2, copyToHost, (void *, CuAddress, size_t, CuStream))                 \
  FUNCTION(cuMemcpyAsync, copy, (CuAddress, CuAddress, size_t, CuStream))                           \
  FUNCTION(cuMemsetD8Async, fill, (CuAddress, unsigned char, size_t, CuStream))                     \
  FUNCTION(cuMemsetD8_v2, fillNow, (CuAddress, unsigned char, size_t))                              \
  FUNCTION(cuModuleLoadDataEx, loadModule, (CuModule *, const void *, unsigned, int *, void **))    \
  FUNCTION(cuModuleUnload, unloadModule, (CuModule))                                                \
  FUNCTION(cuModuleGetFunction, getFunction, (CuFunction *, CuModule, const char *))                \
  FUNCTION(cuFuncGetAttribute, functionAttribute, (int *, int, CuFunction))                         \
  FUNCTION(cuFuncSetAttribute, setFunctionAttribute, (CuFunction, int, int))                        \
  FUNCTION(cuStreamCreate, createStream, (CuStream *, unsigned))                                    \
  FUNCTION(cuStreamDestroy_v2, destroyStream, (CuStream))                                           \
  FUNCTION(cuStreamSynchronize, synchronize, (CuStream))                                            \
  FUNCTION(cuEventCreate, createEvent, (CuEvent *, unsigned))                                       \
  FUNCTION(cuEventDestroy_v2, destroyEvent, (CuEvent))                                              \
  FUNCTION(cuEventRecord, recordEvent, (CuEvent, CuStream))                                         \
  FUNCTION(cuEventElapsedTime, elapsedMilliseconds, (float *, CuEvent, CuEvent))                    \
  FUNCTION(cuLaunchKernel, launch,                                                                  \
           (CuFunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,       \
            CuStream, void **, void **))                                                            \
  FUNCTION(cuGraphCreate, createGraph, (CuGraph *, unsigned))                                       \
  FUNCTION(cuGraphDestroy, destroyGraph, (CuGraph))                                                 \
  FUNCTION(cuGraphAddKernelNode_v2, addKernelNode,                                                  \
           (CuGraphNode *, CuGraph, const CuGraphNode *, size_t, const CuKernelNodeParams *))       \
  FUNCTION(cuGraphAddEmptyNode, addEmptyNode,                                                       \
           (CuGraphNode *, CuGraph, const CuGraphNode *, size_t))                                   \
  FUNCTION(cuGraphInstantiateWithFlags, instantiate, (CuGraphExec *, CuGraph, unsigned long long))  \
  FUNCTION(cuGraphExecKernelNodeSetParams_v2, setKernelNode,                                        \
           (CuGraphExec, CuGraphNode, const CuKernelNodeParams *))                                  \
  FUNCTION(cuGraphExecDestroy, destroyGraphExec, (CuGraphExec))                                     \
  FUNCTION(cuGraphLaunch, launchGraph, (CuGraphExec, CuStream))

/// What newer drivers have; null where the library does not.
#define PEWTER_CUDA_NEWER_FUNCTIONS(FUNCTION)                                                       \
  FUNCTION(cuGraphAddDependencies_v2, addDependencies,                                              \
           (CuGraph, const CuGraphNode *, const CuGraphNode *, const CuGraphEdge *, size_t))

struct Driver {
#define PEWTER_CUDA_MEMBER(symbol, member, parameters) CuResult(*member) parameters = nullptr;
  PEWTER_CUDA_FUNCTIONS(PEWTER_CUDA_MEMBER)
  PEWTER_CUDA_NEWER_FUNCTIONS(PEWTER_CUDA_MEMBER)
#undef PEWTER_CUDA_MEMBER
};

/// The driver of this machine, initialised; an error says why there is none.
Result<const Driver *> loadDriver();

/// Replaces what loadDriver gives; null restores the machine's own. For tests.
void setDriverForTesting(const Driver *driver);

/// Turns a driver's answer into an error that names the call and the driver's own text.
Result<void> check(const Driver &driver, CuResult result, const char *call);

} // namespace pewter::cuda
