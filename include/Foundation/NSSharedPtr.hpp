// SPDX-License-Identifier: Apache-2.0
//
// NS::SharedPtr: owns one reference of an object. Make one with TransferPtr (takes over the
// caller's reference) or RetainPtr (adds one).
//
//   auto buffer = NS::TransferPtr(device->newBuffer(64, MTL::ResourceStorageModeShared));
#pragma once
#include "NSDefines.hpp"
#include <cstddef>
#include <type_traits>

namespace NS {

template <class _Class> class SharedPtr {
  template <class _Other>
  using IfConvertible = std::enable_if_t<std::is_convertible_v<_Other *, _Class *>, int>;

public:
  SharedPtr() = default;
  SharedPtr(std::nullptr_t) noexcept {}
  SharedPtr(const SharedPtr &other) noexcept : object_(retained(other.object_)) {}
  template <class _Other, IfConvertible<_Other> = 0>
  SharedPtr(const SharedPtr<_Other> &other) noexcept : object_(retained(other.get())) {}
  SharedPtr(SharedPtr &&other) noexcept : object_(other.object_) { other.object_ = nullptr; }
  template <class _Other, IfConvertible<_Other> = 0>
  SharedPtr(SharedPtr<_Other> &&other) noexcept : object_(other.get()) {
    other.detach();
  }
  ~SharedPtr() {
    if (object_)
      object_->release();
  }

  SharedPtr &operator=(const SharedPtr &other) {
    assign(retained(other.object_));
    return *this;
  }
  template <class _Other, IfConvertible<_Other> = 0>
  SharedPtr &operator=(const SharedPtr<_Other> &other) {
    assign(retained(other.get()));
    return *this;
  }
  SharedPtr &operator=(SharedPtr &&other) {
    if (this != &other) {
      _Class *object = other.object_;
      other.object_ = nullptr;
      assign(object);
    }
    return *this;
  }
  template <class _Other, IfConvertible<_Other> = 0>
  SharedPtr &operator=(SharedPtr<_Other> &&other) {
    _Class *object = other.get();
    other.detach();
    assign(object);
    return *this;
  }

  _Class *get() const { return object_; }
  _Class *operator->() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }
  void reset() { assign(nullptr); }
  void detach() { object_ = nullptr; } ///< Forgets the object without releasing it.

  template <class _Other> friend SharedPtr<_Other> RetainPtr(_Other *ptr);
  template <class _Other> friend SharedPtr<_Other> TransferPtr(_Other *ptr);

private:
  static _Class *retained(_Class *object) {
    if (object)
      object->retain();
    return object;
  }
  void assign(_Class *object) {
    _Class *old = object_;
    object_ = object;
    if (old)
      old->release();
  }

  _Class *object_ = nullptr;
};

template <class _Class> inline SharedPtr<_Class> RetainPtr(_Class *pObject) {
  SharedPtr<_Class> pointer;
  pointer.object_ = SharedPtr<_Class>::retained(pObject);
  return pointer;
}

template <class _Class> inline SharedPtr<_Class> TransferPtr(_Class *pObject) {
  SharedPtr<_Class> pointer;
  pointer.object_ = pObject;
  return pointer;
}

template <class _A, class _B>
inline bool operator==(const SharedPtr<_A> &left, const SharedPtr<_B> &right) {
  return left.get() == right.get();
}
template <class _A, class _B>
inline bool operator!=(const SharedPtr<_A> &left, const SharedPtr<_B> &right) {
  return left.get() != right.get();
}

} // namespace NS
