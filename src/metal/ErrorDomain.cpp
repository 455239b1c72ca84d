// SPDX-License-Identifier: Apache-2.0
//
// Pipelines have no domain of their own in Metal's headers; their errors carry the library's.
// Tested by tests/api/Error_test.cpp.
#include "metal/ErrorDomain.h"
#include "foundation/Error.h"
#include <Metal/Metal.hpp>

namespace MTL {

#define PEWTER_CONSTANT(Type, name, text) Type const name = NS::detail::constantString(text);
PEWTER_CONSTANT(NS::ErrorDomain, LibraryErrorDomain, "MTLLibraryErrorDomain")
PEWTER_CONSTANT(NS::ErrorDomain, CommandBufferErrorDomain, "MTLCommandBufferErrorDomain")
PEWTER_CONSTANT(NS::ErrorDomain, BinaryArchiveDomain, "MTLBinaryArchiveDomain")
PEWTER_CONSTANT(NS::ErrorDomain, CounterErrorDomain, "MTLCounterErrorDomain")
PEWTER_CONSTANT(NS::ErrorUserInfoKey, CommandBufferEncoderInfoErrorKey,
                "MTLCommandBufferEncoderInfoErrorKey")
PEWTER_CONSTANT(DeviceNotificationName, DeviceWasAddedNotification, "MTLDeviceWasAddedNotification")
PEWTER_CONSTANT(DeviceNotificationName, DeviceRemovalRequestedNotification,
                "MTLDeviceRemovalRequestedNotification")
PEWTER_CONSTANT(DeviceNotificationName, DeviceWasRemovedNotification,
                "MTLDeviceWasRemovedNotification")
PEWTER_CONSTANT(CommonCounter, CommonCounterTimestamp, "GPUTimestamp")
PEWTER_CONSTANT(CommonCounter, CommonCounterComputeKernelInvocations, "ComputeKernelInvocations")
PEWTER_CONSTANT(CommonCounter, CommonCounterTotalCycles, "TotalCycles")
PEWTER_CONSTANT(CommonCounterSet, CommonCounterSetTimestamp, "timestamp")
PEWTER_CONSTANT(CommonCounterSet, CommonCounterSetStageUtilization, "stageutilization")
PEWTER_CONSTANT(CommonCounterSet, CommonCounterSetStatistic, "statistic")
#undef PEWTER_CONSTANT

} // namespace MTL

namespace pewter::metal {
namespace {

NS::Integer libraryCode(ErrorKind kind) {
  switch (kind) {
  case ErrorKind::Compile:
    return MTL::LibraryErrorCompileFailure;
  case ErrorKind::Unsupported:
    return MTL::LibraryErrorUnsupported;
  case ErrorKind::Io:
    return MTL::LibraryErrorFileNotFound;
  case ErrorKind::Validation:
    return MTL::LibraryErrorFunctionNotFound;
  default:
    return MTL::LibraryErrorInternal;
  }
}

NS::Integer pipelineCode(ErrorKind kind) {
  switch (kind) {
  case ErrorKind::Compile:
  case ErrorKind::Validation:
    return MTL::LibraryErrorCompileFailure;
  default:
    return libraryCode(kind);
  }
}

NS::Integer commandBufferCode(ErrorKind kind) {
  switch (kind) {
  case ErrorKind::Validation:
  case ErrorKind::Unsupported:
    return MTL::CommandBufferErrorInvalidResource;
  case ErrorKind::OutOfMemory:
    return MTL::CommandBufferErrorOutOfMemory;
  case ErrorKind::Timeout:
    return MTL::CommandBufferErrorTimeout;
  case ErrorKind::DeviceLost:
    return MTL::CommandBufferErrorPageFault;
  default:
    return MTL::CommandBufferErrorInternal;
  }
}

NS::Integer archiveCode(ErrorKind kind) {
  switch (kind) {
  case ErrorKind::Io:
    return MTL::BinaryArchiveErrorInvalidFile;
  case ErrorKind::Validation:
    return MTL::BinaryArchiveErrorUnexpectedElement;
  case ErrorKind::Compile:
    return MTL::BinaryArchiveErrorCompilationFailure;
  default:
    return MTL::BinaryArchiveErrorInternalError;
  }
}

} // namespace

NS::Error *newError(ErrorDomain domain, const Error &error) {
  ErrorKind kind = error.kind();
  std::string text = error.describe();
  switch (domain) {
  case ErrorDomain::Library:
    return foundation::newError(MTL::LibraryErrorDomain, libraryCode(kind), text);
  case ErrorDomain::Pipeline:
    return foundation::newError(MTL::LibraryErrorDomain, pipelineCode(kind), text);
  case ErrorDomain::CommandBuffer:
    return foundation::newError(MTL::CommandBufferErrorDomain, commandBufferCode(kind), text);
  case ErrorDomain::BinaryArchive:
    return foundation::newError(MTL::BinaryArchiveDomain, archiveCode(kind), text);
  case ErrorDomain::Counter:
    return foundation::newError(MTL::CounterErrorDomain,
                                kind == ErrorKind::OutOfMemory
                                    ? MTL::CounterSampleBufferErrorOutOfMemory
                                    : MTL::CounterSampleBufferErrorInvalid,
                                text);
  case ErrorDomain::LogState:
    return foundation::newError(MTL::LogStateErrorDomain, MTL::LogStateErrorInvalid, text);
  case ErrorDomain::Capture:
    return foundation::newError(NS::detail::constantString("MTLCaptureError"),
                                MTL::CaptureErrorNotSupported, text);
  }
  return nullptr;
}

void setError(NS::Error **out, ErrorDomain domain, const Error &error) {
  if (out)
    *out = newError(domain, error)->autorelease();
}

} // namespace pewter::metal
