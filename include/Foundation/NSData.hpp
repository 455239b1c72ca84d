// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "NSObject.hpp"
#include "NSTypes.hpp"

namespace NS {

class String;
class URL;

/// Bytes with an owner. data(path) and data(url) give null when the file cannot be read.
class _NS_EXPORT Data : public Copying<Data> {
public:
  static Data *data(String *path);
  static Data *data(URL *url);
  static Data *data(const void *bytes, UInteger length);

  const void *bytes() const;
  void *mutableBytes() const;
  UInteger length() const;
};

} // namespace NS
