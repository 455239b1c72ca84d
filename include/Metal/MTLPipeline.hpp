// SPDX-License-Identifier: Apache-2.0
//
// What pipeline descriptors of every kind share.
#pragma once
#include "../Foundation/Foundation.hpp"
#include "MTLDefines.hpp"

namespace MTL {

class PipelineBufferDescriptor;
class PipelineBufferDescriptorArray;

enum Mutability : NS::UInteger {
  MutabilityDefault = 0,
  MutabilityMutable = 1,
  MutabilityImmutable = 2,
};

enum ShaderValidation : NS::Integer {
  ShaderValidationDefault = 0,
  ShaderValidationEnabled = 1,
  ShaderValidationDisabled = 2,
};

/// Whether the host or a kernel changes a buffer between encoding and completion.
class _MTL_EXPORT PipelineBufferDescriptor : public NS::Copying<PipelineBufferDescriptor> {
public:
  static PipelineBufferDescriptor *alloc();
  PipelineBufferDescriptor *init();
  Mutability mutability() const;
  void setMutability(Mutability mutability);
};

/// One descriptor for each of the 31 buffer slots, made on first use.
class _MTL_EXPORT PipelineBufferDescriptorArray
    : public NS::Referencing<PipelineBufferDescriptorArray> {
public:
  static PipelineBufferDescriptorArray *alloc();
  PipelineBufferDescriptorArray *init();
  PipelineBufferDescriptor *object(NS::UInteger bufferIndex);
  void setObject(const PipelineBufferDescriptor *buffer, NS::UInteger bufferIndex);
};

} // namespace MTL
