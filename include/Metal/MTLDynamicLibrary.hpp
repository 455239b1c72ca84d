// SPDX-License-Identifier: Apache-2.0
//
// DynamicLibrary: declared so that programs compile; newDynamicLibrary fails with a clear error.
#pragma once
#include "../Foundation/Foundation.hpp"
#include "MTLDefines.hpp"

namespace MTL {

class Device;
class DynamicLibrary;

enum DynamicLibraryError : NS::UInteger {
  DynamicLibraryErrorNone = 0,
  DynamicLibraryErrorInvalidFile = 1,
  DynamicLibraryErrorCompilationFailure = 2,
  DynamicLibraryErrorUnresolvedInstallName = 3,
  DynamicLibraryErrorDependencyLoadFailure = 4,
  DynamicLibraryErrorUnsupported = 5,
};

/// Not made by this version.
class _MTL_EXPORT DynamicLibrary : public NS::Referencing<DynamicLibrary> {
public:
  Device *device() const;
  NS::String *installName() const;
  NS::String *label() const;
  void setLabel(const NS::String *label);
  bool serializeToURL(const NS::URL *url, NS::Error **error);
};

} // namespace MTL
