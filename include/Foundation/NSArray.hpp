// SPDX-License-Identifier: Apache-2.0
//
// NS::Array: an immutable list; it retains its objects.
#pragma once
#include "NSEnumerator.hpp"
#include "NSObject.hpp"
#include "NSTypes.hpp"

namespace NS {

class _NS_EXPORT Array : public Copying<Array> {
public:
  static Array *array();
  static Array *array(const Object *pObject);
  static Array *array(const Object *const *pObjects, UInteger count);
  static Array *alloc();
  Array *init();
  Array *init(const Object *const *pObjects, UInteger count);

  /// Null, and a message, when the index is not below count().
  template <class _Object = Object> _Object *object(UInteger index) const {
    return reinterpret_cast<_Object *>(objectAt(index));
  }
  UInteger count() const;
  Enumerator<Object> *objectEnumerator() const;

private:
  Object *objectAt(UInteger index) const;
};

} // namespace NS
