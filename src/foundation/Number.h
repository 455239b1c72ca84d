// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "foundation/Object.h"
#include <Foundation/NSNumber.hpp>
#include <string>

namespace pewter::foundation {

/// A plain value of at most eight bytes, and its Objective-C type encoding.
struct NumberData {
  unsigned char bytes[8] = {};
  std::string type = "q";
};

class Value final : public NS::Value {
public:
  const char *className() const override { return "NSValue"; }
  bool isEqualTo(const Root *other) const override;
  NS::UInteger hashValue() const override;
  NumberData data;
};

class Number final : public NS::Number {
public:
  const char *className() const override { return "NSNumber"; }
  bool isEqualTo(const Root *other) const override;
  NS::UInteger hashValue() const override;
  NS::String *makeDescription() const override;
  NumberData data;
};

} // namespace pewter::foundation
