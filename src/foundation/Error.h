// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "foundation/Object.h"
#include <Foundation/NSDictionary.hpp>
#include <Foundation/NSError.hpp>
#include <Foundation/NSString.hpp>
#include <string_view>

namespace pewter::foundation {

class Error final : public NS::Error {
public:
  const char *className() const override { return "NSError"; }
  NS::String *makeDescription() const override;

  Ref<NS::String> domain;
  NS::Integer code = 0;
  Ref<NS::Dictionary> userInfo;
};

/// An error that the caller owns, with the text as its localized description.
NS::Error *newError(NS::ErrorDomain domain, NS::Integer code, std::string_view description);

} // namespace pewter::foundation
