// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "NSDefines.hpp"
#include "NSObject.hpp"
#include "NSTypes.hpp"

namespace NS {

/// A moment.
class _NS_EXPORT Date : public Copying<Date> {
public:
  static Date *dateWithTimeIntervalSinceNow(TimeInterval secs);
  static Date *distantFuture();
};

} // namespace NS
