// SPDX-License-Identifier: Apache-2.0
//
// Counters: timestamps of encoders and dispatches.
#pragma once
#include "../Foundation/Foundation.hpp"
#include "MTLDefines.hpp"
#include "MTLResource.hpp"
#include <cstdint>

namespace MTL {

class Counter;
class CounterSampleBuffer;
class CounterSampleBufferDescriptor;
class CounterSet;
class Device;

enum CounterSampleBufferError : NS::Integer {
  CounterSampleBufferErrorOutOfMemory = 0,
  CounterSampleBufferErrorInvalid = 1,
  CounterSampleBufferErrorInternal = 2,
};

struct CounterResultTimestamp {
  uint64_t timestamp;
} _MTL_PACKED;

struct CounterResultStageUtilization {
  uint64_t totalCycles;
  uint64_t vertexCycles;
  uint64_t tessellationCycles;
  uint64_t postTessellationVertexCycles;
  uint64_t fragmentCycles;
  uint64_t renderTargetCycles;
} _MTL_PACKED;

struct CounterResultStatistic {
  uint64_t tessellationInputPatches;
  uint64_t vertexInvocations;
  uint64_t postTessellationVertexInvocations;
  uint64_t clipperInvocations;
  uint64_t clipperPrimitivesOut;
  uint64_t fragmentInvocations;
  uint64_t fragmentsPassed;
  uint64_t computeKernelInvocations;
} _MTL_PACKED;

using CommonCounter = NS::String *;
using CommonCounterSet = NS::String *;
static const NS::UInteger CounterErrorValue = static_cast<NS::UInteger>(~0ULL);
static const NS::UInteger CounterDontSample = static_cast<NS::UInteger>(-1);
_MTL_CONST(NS::ErrorDomain, CounterErrorDomain);
_MTL_CONST(CommonCounter, CommonCounterTimestamp);
_MTL_CONST(CommonCounter, CommonCounterComputeKernelInvocations);
_MTL_CONST(CommonCounter, CommonCounterTotalCycles);
_MTL_CONST(CommonCounterSet, CommonCounterSetTimestamp);
_MTL_CONST(CommonCounterSet, CommonCounterSetStageUtilization);
_MTL_CONST(CommonCounterSet, CommonCounterSetStatistic);

/// One counter.
class _MTL_EXPORT Counter : public NS::Referencing<Counter> {
public:
  NS::String *name() const;
};

/// Counters that are sampled together. The timestamp set is the only one.
class _MTL_EXPORT CounterSet : public NS::Referencing<CounterSet> {
public:
  NS::Array *counters() const;
  NS::String *name() const;
};

/// How a sample buffer is made.
class _MTL_EXPORT CounterSampleBufferDescriptor
    : public NS::Copying<CounterSampleBufferDescriptor> {
public:
  static CounterSampleBufferDescriptor *alloc();
  CounterSampleBufferDescriptor *init();
  CounterSet *counterSet() const;
  void setCounterSet(const CounterSet *counterSet);
  NS::String *label() const;
  void setLabel(const NS::String *label);
  NS::UInteger sampleCount() const;
  void setSampleCount(NS::UInteger sampleCount);
  StorageMode storageMode() const;
  void setStorageMode(StorageMode storageMode);
};

/// Room for samples.
class _MTL_EXPORT CounterSampleBuffer : public NS::Referencing<CounterSampleBuffer> {
public:
  Device *device() const;
  NS::String *label() const;
  NS::Data *resolveCounterRange(NS::Range range);
  NS::UInteger sampleCount() const;
};

} // namespace MTL
