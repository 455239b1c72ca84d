// SPDX-License-Identifier: Apache-2.0
//
// Walking over collections.
#pragma once
#include "NSObject.hpp"
#include "NSTypes.hpp"

namespace NS {

class Array;

struct FastEnumerationState {
  unsigned long state;
  Object **itemsPtr;
  unsigned long *mutationsPtr;
  unsigned long extra[5];
} _NS_PACKED;

class _NS_EXPORT FastEnumeration : public Referencing<FastEnumeration> {
public:
  /// Hands out up to `len` further objects through `pState->itemsPtr`; 0 at the end.
  UInteger countByEnumerating(FastEnumerationState *pState, Object **pBuffer, UInteger len);
};

namespace detail {
_NS_EXPORT Object *nextObjectOf(FastEnumeration *enumerator);
_NS_EXPORT Array *remainingObjectsOf(FastEnumeration *enumerator);
} // namespace detail

template <class _ObjectType>
class Enumerator : public Referencing<Enumerator<_ObjectType>, FastEnumeration> {
public:
  _ObjectType *nextObject() { return static_cast<_ObjectType *>(detail::nextObjectOf(this)); }
  Array *allObjects() { return detail::remainingObjectsOf(this); }
};

} // namespace NS
