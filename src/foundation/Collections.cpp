// SPDX-License-Identifier: Apache-2.0
// Tested by Foundation_test.cpp.
#include "foundation/Collections.h"
#include "foundation/String.h"
#include <cstdio>

namespace pewter::foundation {
namespace {

Array *implOf(NS::Array *array) { return static_cast<Array *>(array); }
Dictionary *implOf(NS::Dictionary *dictionary) { return static_cast<Dictionary *>(dictionary); }
Set *implOf(NS::Set *set) { return static_cast<Set *>(set); }
template <class T> auto implOf(const T *object) { return implOf(const_cast<T *>(object)); }

std::string indented(const NS::Object *object) {
  std::string out;
  for (char c : textOf(object->description())) {
    out += c;
    if (c == '\n')
      out += "    ";
  }
  return out;
}

EnumerationSource *sourceOf(NS::FastEnumeration *enumerator) {
  return dynamic_cast<EnumerationSource *>(enumerator);
}

} // namespace

bool Array::isEqualTo(const Root *other) const {
  auto *array = dynamic_cast<const Array *>(other);
  if (!array || array->objects.size() != objects.size())
    return false;
  for (size_t i = 0; i < objects.size(); ++i)
    if (!objects[i]->isEqual(array->objects[i].get()))
      return false;
  return true;
}

NS::String *Array::makeDescription() const {
  std::string text = "(\n";
  for (auto &object : objects)
    text += "    " + indented(object.get()) + ",\n";
  return makeString(text + ")");
}

bool Dictionary::isEqualTo(const Root *other) const {
  auto *dictionary = dynamic_cast<const Dictionary *>(other);
  if (!dictionary || dictionary->entries.size() != entries.size())
    return false;
  for (auto &[key, object] : entries) {
    auto found = dictionary->entries.find(key);
    if (found == dictionary->entries.end() || !object->isEqual(found->second.get()))
      return false;
  }
  return true;
}

NS::String *Dictionary::makeDescription() const {
  std::string text = "{\n";
  for (auto &[key, object] : entries)
    text += "    " + indented(key.get()) + " = " + indented(object.get()) + ";\n";
  return makeString(text + "}");
}

} // namespace pewter::foundation

using namespace pewter::foundation;

namespace NS {

UInteger FastEnumeration::countByEnumerating(FastEnumerationState *pState, Object **pBuffer,
                                             UInteger len) {
  if (pState->state == 0) {
    pState->state = 1;
    pState->extra[0] = 0;
    pState->mutationsPtr = &pState->extra[0];
  }
  pState->itemsPtr = pBuffer;
  UInteger count = 0;
  EnumerationSource *source = sourceOf(this);
  while (source && count < len) {
    Object *object = source->next();
    if (!object)
      break;
    pBuffer[count++] = object;
  }
  return count;
}

Object *detail::nextObjectOf(FastEnumeration *enumerator) {
  EnumerationSource *source = sourceOf(enumerator);
  return source ? source->next() : nullptr;
}

Array *detail::remainingObjectsOf(FastEnumeration *enumerator) {
  std::vector<Ref<Object>> objects;
  while (Object *object = nextObjectOf(enumerator))
    objects.push_back(share(object));
  return makeArray(std::move(objects));
}

Array *Array::array() { return autoreleased(alloc()); }
Array *Array::array(const Object *pObject) { return array(&pObject, 1); }
Array *Array::array(const Object *const *pObjects, UInteger count) {
  return autoreleased(alloc()->init(pObjects, count));
}
Array *Array::alloc() { return new pewter::foundation::Array(); }
Array *Array::init() { return this; }
Array *Array::init(const Object *const *pObjects, UInteger count) {
  for (UInteger i = 0; i < count; ++i)
    if (pObjects[i])
      implOf(this)->objects.push_back(share(pObjects[i]));
  return this;
}
Object *Array::objectAt(UInteger index) const {
  auto &objects = implOf(this)->objects;
  if (index < objects.size())
    return objects[index].get();
  std::fprintf(stderr, "pewter: NS::Array::object: index (%zu) is not below the count (%zu).\n",
               size_t(index), objects.size());
  return nullptr;
}
UInteger Array::count() const { return implOf(this)->objects.size(); }
Enumerator<Object> *Array::objectEnumerator() const {
  return static_cast<Enumerator<Object> *>(
      autoreleased(new ObjectEnumerator(implOf(this)->objects)));
}

Dictionary *Dictionary::dictionary() { return autoreleased(alloc()); }
Dictionary *Dictionary::dictionary(const Object *pObject, const Object *pKey) {
  return dictionary(&pObject, &pKey, 1);
}
Dictionary *Dictionary::dictionary(const Object *const *pObjects, const Object *const *pKeys,
                                   UInteger count) {
  return autoreleased(alloc()->init(pObjects, pKeys, count));
}
Dictionary *Dictionary::alloc() { return new pewter::foundation::Dictionary(); }
Dictionary *Dictionary::init() { return this; }
Dictionary *Dictionary::init(const Object *const *pObjects, const Object *const *pKeys,
                             UInteger count) {
  for (UInteger i = 0; i < count; ++i)
    if (pObjects[i] && pKeys[i])
      implOf(this)->entries.insert_or_assign(share(pKeys[i]), share(pObjects[i]));
  return this;
}
Object *Dictionary::objectFor(const Object *pKey) const {
  if (!pKey)
    return nullptr;
  auto &entries = implOf(this)->entries;
  auto found = entries.find(share(pKey));
  return found == entries.end() ? nullptr : found->second.get();
}
Enumerator<Object> *Dictionary::keys() const {
  std::vector<Ref<Object>> keys;
  for (auto &entry : implOf(this)->entries)
    keys.push_back(entry.first);
  return static_cast<Enumerator<Object> *>(autoreleased(new ObjectEnumerator(std::move(keys))));
}
UInteger Dictionary::count() const { return implOf(this)->entries.size(); }

Set *Set::alloc() { return new pewter::foundation::Set(); }
Set *Set::init() { return this; }
Set *Set::init(const Object *const *pObjects, UInteger count) {
  auto &objects = implOf(this)->objects;
  for (UInteger i = 0; i < count; ++i) {
    bool known = false;
    for (auto &object : objects)
      known = known || object->isEqual(pObjects[i]);
    if (!known && pObjects[i])
      objects.push_back(share(pObjects[i]));
  }
  return this;
}
UInteger Set::count() const { return implOf(this)->objects.size(); }
Enumerator<Object> *Set::objectEnumerator() const {
  return static_cast<Enumerator<Object> *>(
      autoreleased(new ObjectEnumerator(implOf(this)->objects)));
}

} // namespace NS
