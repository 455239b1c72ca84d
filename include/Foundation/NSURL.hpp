// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "NSDefines.hpp"
#include "NSObject.hpp"
#include "NSTypes.hpp"

namespace NS {

class String;

/// A file's place. init takes a "file://" URL or a path; other schemes have no file.
class _NS_EXPORT URL : public Copying<URL> {
public:
  static URL *fileURLWithPath(const String *pPath);
  static URL *alloc();
  URL *init();
  URL *init(const String *pString);
  URL *initFileURLWithPath(const String *pPath);

  const char *fileSystemRepresentation() const;
};

} // namespace NS
