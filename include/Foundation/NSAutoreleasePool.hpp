// SPDX-License-Identifier: Apache-2.0
//
// NS::AutoreleasePool: holds the objects that this thread got without owning them, until it is
// drained or released. Pools of a thread nest. A thread that makes none has one that drains when
// the thread ends, so a loop that runs for long should make its own.
#pragma once
#include "NSDefines.hpp"
#include "NSObject.hpp"
#include "NSTypes.hpp"

namespace NS {

class _NS_EXPORT AutoreleasePool : public Object {
public:
  static AutoreleasePool *alloc();
  AutoreleasePool *init();

  void drain(); ///< Releases the pool's objects and the pool.
  void addObject(Object *pObject);
  static void showPools(); ///< Prints this thread's pools to stderr.
};

} // namespace NS
