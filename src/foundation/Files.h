// SPDX-License-Identifier: Apache-2.0
//
// NS::URL and NS::Data.
#pragma once
#include "base/Bytes.h"
#include "foundation/Object.h"
#include <Foundation/NSData.hpp>
#include <Foundation/NSURL.hpp>
#include <string>

namespace pewter::foundation {

class Url final : public NS::URL {
public:
  const char *className() const override { return "NSURL"; }
  bool isEqualTo(const Root *other) const override;
  NS::UInteger hashValue() const override { return std::hash<std::string>()(path); }
  NS::String *makeDescription() const override;
  std::string path; ///< Of a file; "" for URLs of other schemes.
};

class Data final : public NS::Data {
public:
  const char *className() const override { return "NSData"; }
  bool isEqualTo(const Root *other) const override;
  Bytes bytes;
};

/// The file that a URL names; "" for null.
inline std::string pathOf(const NS::URL *url) {
  return url ? static_cast<const Url *>(url)->path : std::string();
}
NS::URL *makeUrl(std::string path); ///< Autoreleased.

} // namespace pewter::foundation
