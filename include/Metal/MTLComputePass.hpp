// SPDX-License-Identifier: Apache-2.0
//
// Descriptors of a compute pass.
#pragma once
#include "../Foundation/Foundation.hpp"
#include "MTLCommandBuffer.hpp"
#include "MTLDefines.hpp"

namespace MTL {

class ComputePassDescriptor;
class ComputePassSampleBufferAttachmentDescriptor;
class ComputePassSampleBufferAttachmentDescriptorArray;
class CounterSampleBuffer;

/// Where a pass writes timestamps at its start and end.
class _MTL_EXPORT ComputePassSampleBufferAttachmentDescriptor
    : public NS::Copying<ComputePassSampleBufferAttachmentDescriptor> {
public:
  static ComputePassSampleBufferAttachmentDescriptor *alloc();
  ComputePassSampleBufferAttachmentDescriptor *init();
  NS::UInteger endOfEncoderSampleIndex() const;
  void setEndOfEncoderSampleIndex(NS::UInteger endOfEncoderSampleIndex);
  CounterSampleBuffer *sampleBuffer() const;
  void setSampleBuffer(const CounterSampleBuffer *sampleBuffer);
  NS::UInteger startOfEncoderSampleIndex() const;
  void setStartOfEncoderSampleIndex(NS::UInteger startOfEncoderSampleIndex);
};

/// Four attachments, made on first use.
class _MTL_EXPORT ComputePassSampleBufferAttachmentDescriptorArray
    : public NS::Referencing<ComputePassSampleBufferAttachmentDescriptorArray> {
public:
  static ComputePassSampleBufferAttachmentDescriptorArray *alloc();
  ComputePassSampleBufferAttachmentDescriptorArray *init();
  ComputePassSampleBufferAttachmentDescriptor *object(NS::UInteger attachmentIndex);
  void setObject(const ComputePassSampleBufferAttachmentDescriptor *attachment,
                 NS::UInteger attachmentIndex);
};

/// How a compute encoder is made: serial or concurrent.
class _MTL_EXPORT ComputePassDescriptor : public NS::Copying<ComputePassDescriptor> {
public:
  static ComputePassDescriptor *alloc();
  static ComputePassDescriptor *computePassDescriptor();
  ComputePassDescriptor *init();
  DispatchType dispatchType() const;
  void setDispatchType(DispatchType dispatchType);
  ComputePassSampleBufferAttachmentDescriptorArray *sampleBufferAttachments() const;
};

} // namespace MTL
