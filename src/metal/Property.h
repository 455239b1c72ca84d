// SPDX-License-Identifier: Apache-2.0
//
// Writes the accessors of descriptor classes. `implOf` of the public object must be visible; the
// member has the property's name.
#pragma once
#include "foundation/Object.h"
#include "foundation/String.h"

/// A plain value: Class::name() and Class::setter(value).
#define PEWTER_VALUE(Class, Type, name, setter)                                                    \
  MTL::Type MTL::Class::name() const { return implOf(this)->name; }                                \
  void MTL::Class::setter(MTL::Type value) { implOf(this)->name = value; }

/// A plain value of a type outside MTL.
#define PEWTER_PLAIN(Class, Type, name, setter)                                                    \
  Type MTL::Class::name() const { return implOf(this)->name; }                                     \
  void MTL::Class::setter(Type value) { implOf(this)->name = value; }

/// An object, retained.
#define PEWTER_OBJECT(Class, Type, name, setter)                                                   \
  Type *MTL::Class::name() const { return implOf(this)->name.get(); }                              \
  void MTL::Class::setter(const Type *value) {                                                     \
    implOf(this)->name = ::pewter::foundation::share(value);                                       \
  }

/// A std::string member shown as NS::String; null when it is empty.
#define PEWTER_LABEL(Class)                                                                        \
  NS::String *MTL::Class::label() const {                                                          \
    auto &text = implOf(this)->label;                                                              \
    return text.empty() ? nullptr : ::pewter::foundation::makeString(text);                        \
  }                                                                                                \
  void MTL::Class::setLabel(const NS::String *label) {                                             \
    implOf(this)->label = ::pewter::foundation::copyText(label);                                   \
  }

/// alloc(), init() and a className for a class whose objects the program makes.
#define PEWTER_ALLOC(Class)                                                                        \
  MTL::Class *MTL::Class::alloc() { return new ::pewter::metal::Class(); }                         \
  MTL::Class *MTL::Class::init() { return this; }
