// SPDX-License-Identifier: Apache-2.0
//
// Each thread has a stack of pools over a root list that is emptied when the thread ends.
// Tested by Foundation_test.cpp.
#include "foundation/Object.h"
#include <Foundation/NSAutoreleasePool.hpp>
#include <algorithm>
#include <cstdio>
#include <vector>

namespace pewter::foundation {
namespace {

class Pool final : public NS::AutoreleasePool {
public:
  const char *className() const override { return "NSAutoreleasePool"; }
  void dispose() override;
  std::vector<const Root *> objects;
};

void drainList(std::vector<const NS::detail::Root *> &objects) {
  while (!objects.empty()) { // Releasing may autorelease more.
    std::vector<const NS::detail::Root *> taken;
    taken.swap(objects);
    for (auto *object : taken)
      NS::detail::release(object);
  }
}

struct ThreadPools {
  std::vector<const NS::detail::Root *> root;
  std::vector<Pool *> stack;
  ~ThreadPools();
};

thread_local bool threadIsOver = false; // Trivial, so it outlives the next line's object.
thread_local ThreadPools threadPools;

ThreadPools::~ThreadPools() {
  drainList(root);
  threadIsOver = true;
}

void Pool::dispose() {
  if (!threadIsOver) {
    auto &stack = threadPools.stack;
    auto at = std::find(stack.begin(), stack.end(), this);
    if (at != stack.end()) {
      // Pools above this one drain with it; their objects' owners may still release the pools.
      for (auto above = at + 1; above != stack.end(); ++above)
        drainList((*above)->objects);
      drainList(objects); // While this is the top, so that what gets autoreleased lands here.
      stack.erase(at, stack.end());
    }
  }
  drainList(objects);
  delete this;
}

} // namespace
} // namespace pewter::foundation

using namespace pewter::foundation;

namespace NS {

void detail::autorelease(const Root *object) {
  if (!object || threadIsOver)
    return; // After the thread's end nobody would drain: the object leaks.
  auto &pools = threadPools;
  (pools.stack.empty() ? pools.root : pools.stack.back()->objects).push_back(object);
}

AutoreleasePool *AutoreleasePool::alloc() { return new Pool(); }
AutoreleasePool *AutoreleasePool::init() {
  if (!threadIsOver)
    threadPools.stack.push_back(static_cast<Pool *>(this));
  return this;
}
void AutoreleasePool::drain() { release(); }
void AutoreleasePool::addObject(Object *pObject) {
  static_cast<Pool *>(this)->objects.push_back(pObject);
}
void AutoreleasePool::showPools() {
  std::fprintf(stderr, "pewter: thread pool: %zu objects\n", threadPools.root.size());
  for (Pool *pool : threadPools.stack) {
    std::fprintf(stderr, "pewter: pool %p: %zu objects\n", static_cast<void *>(pool),
                 pool->objects.size());
    for (auto *object : pool->objects)
      std::fprintf(stderr, "pewter:   %s %p, %zu references\n", object->className(),
                   static_cast<const void *>(object), size_t(detail::retainCount(object)));
  }
}

} // namespace NS
