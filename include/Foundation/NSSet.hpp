// SPDX-License-Identifier: Apache-2.0
//
// NS::Set: an immutable set by equality; it retains its objects.
#pragma once
#include "NSEnumerator.hpp"
#include "NSObject.hpp"

namespace NS {

class _NS_EXPORT Set : public Copying<Set> {
public:
  static Set *alloc();
  Set *init();
  Set *init(const Object *const *pObjects, UInteger count);

  UInteger count() const;
  Enumerator<Object> *objectEnumerator() const;
};

} // namespace NS
