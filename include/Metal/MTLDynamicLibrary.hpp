// SPDX-License-Identifier: Apache-2.0
//
// DynamicLibrary: functions that other libraries declare `extern` and call.
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

/// Made of a library that was compiled with LibraryTypeDynamic, or of a file. Immutable; any thread.
class _MTL_EXPORT DynamicLibrary : public NS::Referencing<DynamicLibrary> {
public:
  Device *device() const;
  NS::String *installName() const;
  NS::String *label() const;
  void setLabel(const NS::String *label);
  bool serializeToURL(const NS::URL *url, NS::Error **error);
};

} // namespace MTL
