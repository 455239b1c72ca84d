// SPDX-License-Identifier: Apache-2.0
//
// BinaryArchive: compiled pipelines in a file.
#pragma once
#include "../Foundation/Foundation.hpp"
#include "MTLDefines.hpp"

namespace MTL {

class BinaryArchive;
class BinaryArchiveDescriptor;
class ComputePipelineDescriptor;
class Device;
class FunctionDescriptor;
class Library;

enum BinaryArchiveError : NS::UInteger {
  BinaryArchiveErrorNone = 0,
  BinaryArchiveErrorInvalidFile = 1,
  BinaryArchiveErrorUnexpectedElement = 2,
  BinaryArchiveErrorCompilationFailure = 3,
  BinaryArchiveErrorInternalError = 4,
};

_MTL_CONST(NS::ErrorDomain, BinaryArchiveDomain);

/// Names the file to read; none makes an empty archive.
class _MTL_EXPORT BinaryArchiveDescriptor : public NS::Copying<BinaryArchiveDescriptor> {
public:
  static BinaryArchiveDescriptor *alloc();
  BinaryArchiveDescriptor *init();
  NS::URL *url() const;
  void setUrl(const NS::URL *url);
};

/// Pipelines added here, or found in the file, need no compiler when a descriptor lists the
/// archive.
class _MTL_EXPORT BinaryArchive : public NS::Referencing<BinaryArchive> {
public:
  bool addComputePipelineFunctions(const ComputePipelineDescriptor *descriptor, NS::Error **error);
  bool addFunction(const FunctionDescriptor *descriptor, const Library *library, NS::Error **error);
  Device *device() const;
  NS::String *label() const;
  void setLabel(const NS::String *label);
  bool serializeToURL(const NS::URL *url, NS::Error **error);
};

} // namespace MTL
