// SPDX-License-Identifier: Apache-2.0
//
// CommandEncoder: what all encoders have in common.
#pragma once
#include "../Foundation/Foundation.hpp"
#include "MTLDefines.hpp"

namespace MTL {

class CommandEncoder;
class Device;

using ResourceUsage = NS::UInteger;
enum : ResourceUsage {
  ResourceUsageRead = 1,
  ResourceUsageWrite = 1 << 1,
  ResourceUsageSample = 1 << 2,
};

using BarrierScope = NS::UInteger;
enum : BarrierScope {
  BarrierScopeBuffers = 1,
  BarrierScopeTextures = 1 << 1,
  BarrierScopeRenderTargets = 1 << 2,
};

using Stages = NS::UInteger;
enum : Stages {
  StageVertex = 1,
  StageFragment = 1 << 1,
  StageTile = 1 << 2,
  StageObject = 1 << 3,
  StageMesh = 1 << 4,
  StageResourceState = 1 << 26,
  StageDispatch = 1 << 27,
  StageBlit = 1 << 28,
  StageAccelerationStructure = 1 << 29,
  StageMachineLearning = 1 << 30,
  StageAll = 9223372036854775807,
};

/// Records commands into its command buffer until endEncoding. One encoder of a command buffer
/// is open at a time, and one thread uses it.
class _MTL_EXPORT CommandEncoder : public NS::Referencing<CommandEncoder> {
public:
  void barrierAfterQueueStages(Stages afterQueueStages, Stages beforeStages);
  Device *device() const;
  void endEncoding();
  void insertDebugSignpost(const NS::String *string);
  NS::String *label() const;
  void setLabel(const NS::String *label);
  void popDebugGroup();
  void pushDebugGroup(const NS::String *string);
};

} // namespace MTL
