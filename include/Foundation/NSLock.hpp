// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "NSDate.hpp"
#include "NSDefines.hpp"
#include "NSObject.hpp"
#include "NSTypes.hpp"

namespace NS {

namespace detail {
_NS_EXPORT void lock(Root *object);
_NS_EXPORT void unlock(Root *object);
} // namespace detail

template <class _Class, class _Base = class Object> class Locking : public _Base {
public:
  void lock() { detail::lock(this); }
  void unlock() { detail::unlock(this); }
};

/// A condition variable with its mutex.
class _NS_EXPORT Condition : public Locking<Condition> {
public:
  static Condition *alloc();
  Condition *init();

  void wait();
  bool waitUntilDate(Date *pLimit); ///< False when the moment passed first.
  void signal();
  void broadcast();
};

} // namespace NS
