// SPDX-License-Identifier: Apache-2.0
//
// Reference counting and the methods that every object has. An immortal object (constant strings)
// has the top bit of its count set and is never counted.
// Tested by Foundation_test.cpp.
#include "foundation/Object.h"
#include "foundation/String.h"
#include <fmt/format.h>

namespace NS {
namespace detail {

Root::~Root() = default;

bool Root::isEqualTo(const Root *other) const { return this == other; }

UInteger Root::hashValue() const { return reinterpret_cast<UInteger>(this) >> 4; }

String *Root::makeDescription() const {
  return pewter::foundation::makeString(
      fmt::format("<{}: {}>", className(), static_cast<const void *>(this)));
}

Root *Root::makeCopy() const {
  retain(this);
  return const_cast<Root *>(this);
}

void Root::dispose() { delete this; }

void retain(const Root *object) {
  if (object &&
      !(object->references.load(std::memory_order_relaxed) & pewter::foundation::kImmortal))
    object->references.fetch_add(1, std::memory_order_relaxed);
}

void release(const Root *object) {
  if (!object ||
      (object->references.load(std::memory_order_relaxed) & pewter::foundation::kImmortal))
    return;
  if (object->references.fetch_sub(1, std::memory_order_acq_rel) == 1)
    const_cast<Root *>(object)->dispose();
}

UInteger retainCount(const Root *object) {
  return object ? object->references.load(std::memory_order_relaxed) : 0;
}

} // namespace detail

UInteger Object::hash() const { return hashValue(); }
bool Object::isEqual(const Object *pObject) const { return pObject && isEqualTo(pObject); }
String *Object::description() const { return makeDescription(); }
String *Object::debugDescription() const { return makeDescription(); }

} // namespace NS
