// SPDX-License-Identifier: Apache-2.0
//
// Arrays, dictionaries, sets, and the enumerators over them.
#pragma once
#include "foundation/Object.h"
#include <Foundation/NSArray.hpp>
#include <Foundation/NSDictionary.hpp>
#include <Foundation/NSSet.hpp>
#include <span>
#include <unordered_map>
#include <vector>

namespace pewter::foundation {

/// What NS::FastEnumeration's methods look for behind their object.
class EnumerationSource {
public:
  virtual NS::Object *next() = 0;

protected:
  ~EnumerationSource() = default;
};

class ObjectEnumerator final : public NS::Enumerator<NS::Object>, public EnumerationSource {
public:
  explicit ObjectEnumerator(std::vector<Ref<NS::Object>> objects) : objects_(std::move(objects)) {}
  const char *className() const override { return "NSEnumerator"; }
  NS::Object *next() override { return at_ < objects_.size() ? objects_[at_++].get() : nullptr; }

private:
  std::vector<Ref<NS::Object>> objects_;
  size_t at_ = 0;
};

class Array final : public NS::Array {
public:
  const char *className() const override { return "NSArray"; }
  bool isEqualTo(const Root *other) const override;
  NS::UInteger hashValue() const override { return objects.size(); }
  NS::String *makeDescription() const override;
  std::vector<Ref<NS::Object>> objects;
};

struct ObjectHash {
  size_t operator()(const Ref<NS::Object> &object) const { return object->hash(); }
};
struct ObjectEqual {
  bool operator()(const Ref<NS::Object> &a, const Ref<NS::Object> &b) const {
    return a->isEqual(b.get());
  }
};

class Dictionary final : public NS::Dictionary {
public:
  const char *className() const override { return "NSDictionary"; }
  bool isEqualTo(const Root *other) const override;
  NS::UInteger hashValue() const override { return entries.size(); }
  NS::String *makeDescription() const override;
  std::unordered_map<Ref<NS::Object>, Ref<NS::Object>, ObjectHash, ObjectEqual> entries;
};

class Set final : public NS::Set {
public:
  const char *className() const override { return "NSSet"; }
  std::vector<Ref<NS::Object>> objects; ///< No two are equal.
};

/// An array that the caller owns; it takes over the references.
template <class T> NS::Array *newArray(std::vector<Ref<T>> objects) {
  auto *array = new Array();
  array->objects.reserve(objects.size());
  for (auto &object : objects)
    array->objects.push_back(std::move(object));
  return array;
}
template <class T> NS::Array *makeArray(std::vector<Ref<T>> objects) {
  return autoreleased(newArray(std::move(objects)));
}
inline std::span<const Ref<NS::Object>> objectsOf(const NS::Array *array) {
  if (!array)
    return {};
  return static_cast<const Array *>(array)->objects;
}

} // namespace pewter::foundation
