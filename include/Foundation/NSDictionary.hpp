// SPDX-License-Identifier: Apache-2.0
//
// NS::Dictionary: an immutable map by equal keys; it retains keys and objects.
#pragma once
#include "NSEnumerator.hpp"
#include "NSObject.hpp"
#include "NSTypes.hpp"

namespace NS {

class _NS_EXPORT Dictionary : public Copying<Dictionary> {
public:
  static Dictionary *dictionary();
  static Dictionary *dictionary(const Object *pObject, const Object *pKey);
  static Dictionary *dictionary(const Object *const *pObjects, const Object *const *pKeys,
                                UInteger count);
  static Dictionary *alloc();
  Dictionary *init();
  Dictionary *init(const Object *const *pObjects, const Object *const *pKeys, UInteger count);

  template <class _KeyType = Object> Enumerator<_KeyType> *keyEnumerator() const {
    return reinterpret_cast<Enumerator<_KeyType> *>(keys());
  }
  /// Null when there is no such key.
  template <class _Object = Object> _Object *object(const Object *pKey) const {
    return reinterpret_cast<_Object *>(objectFor(pKey));
  }
  UInteger count() const;

private:
  Enumerator<Object> *keys() const;
  Object *objectFor(const Object *pKey) const;
};

} // namespace NS
