// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "foundation/Object.h"
#include <Foundation/NSString.hpp>
#include <string>
#include <string_view>

namespace pewter::foundation {

class String final : public NS::String {
public:
  String() = default;
  explicit String(std::string text) : text(std::move(text)) {}
  const char *className() const override { return "NSString"; }
  bool isEqualTo(const Root *other) const override;
  NS::UInteger hashValue() const override;
  NS::String *makeDescription() const override;

  std::string text; ///< UTF-8; not changed after init.
};

/// A string that the caller owns.
NS::String *newString(std::string_view text);
/// An autoreleased string.
NS::String *makeString(std::string_view text);
/// The text of a string; "" for null.
inline std::string_view textOf(const NS::String *string) {
  return string ? std::string_view(static_cast<const String *>(string)->text) : std::string_view();
}
inline std::string copyText(const NS::String *string) { return std::string(textOf(string)); }

} // namespace pewter::foundation
