// SPDX-License-Identifier: Apache-2.0
//
// NS::Object: the base of everything that is handed out by pointer, and its reference count.
//
// Who owns what, as in Cocoa: a call whose name begins with new, alloc, copy, Create or Copy gives
// the caller a reference to release; any other object belongs to the thread's autorelease pool and
// lives until that drains, unless it is retained. retain, release and autorelease may be called on
// a null pointer and then do nothing. Counting is thread safe.
//
//   NS::AutoreleasePool *pool = NS::AutoreleasePool::alloc()->init();
//   MTL::Buffer *buffer = device->newBuffer(64, MTL::ResourceStorageModeShared);
//   buffer->release();
//   pool->release();
#pragma once
#include "NSDefines.hpp"
#include "NSTypes.hpp"
#include <atomic>
#include <cstdint>

namespace NS {

class String;

namespace detail {

/// What Pewter keeps in front of every object. The virtual functions belong to the implementation.
class _NS_EXPORT Root {
protected:
  Root() = default;
  virtual ~Root();

public:
  Root(const Root &) = delete;
  Root &operator=(const Root &) = delete;

  virtual const char *className() const = 0;
  virtual bool isEqualTo(const Root *other) const;
  virtual UInteger hashValue() const;
  virtual String *makeDescription() const; ///< Autoreleased.
  virtual Root *makeCopy() const;          ///< Retained; an immutable object gives itself.
  /// The part of the object that methods of an abstract base (resource, encoder, ...) work on.
  virtual void *facet() { return nullptr; }
  /// The last reference is gone. Deletes the object unless a subclass recycles it.
  virtual void dispose();

  mutable std::atomic<std::uint32_t> references{1};
};

_NS_EXPORT void retain(const Root *object);
_NS_EXPORT void release(const Root *object);
_NS_EXPORT void autorelease(const Root *object);
_NS_EXPORT UInteger retainCount(const Root *object);

} // namespace detail

template <class _Class, class _Base = class Object> class Referencing : public _Base {
public:
  _Class *retain();
  void release();
  _Class *autorelease();
  UInteger retainCount() const;

protected:
  Referencing() = default;
};

template <class _Class, class _Base = class Object>
class Copying : public Referencing<_Class, _Base> {
public:
  _Class *copy() const;
};

template <class _Class, class _Base = class Object>
class SecureCoding : public Referencing<_Class, _Base> {};

class _NS_EXPORT Object : public Referencing<Object, detail::Root> {
public:
  UInteger hash() const;
  bool isEqual(const Object *pObject) const;
  String *description() const;
  String *debugDescription() const;

protected:
  Object() = default;
  Object(const Object &) = delete;
  Object &operator=(const Object &) = delete;
};

template <class _Class, class _Base> inline _Class *Referencing<_Class, _Base>::retain() {
  detail::retain(this);
  return static_cast<_Class *>(this);
}

template <class _Class, class _Base> inline void Referencing<_Class, _Base>::release() {
  detail::release(this);
}

template <class _Class, class _Base> inline _Class *Referencing<_Class, _Base>::autorelease() {
  detail::autorelease(this);
  return static_cast<_Class *>(this);
}

template <class _Class, class _Base>
inline UInteger Referencing<_Class, _Base>::retainCount() const {
  return detail::retainCount(this);
}

template <class _Class, class _Base> inline _Class *Copying<_Class, _Base>::copy() const {
  return static_cast<_Class *>(this->makeCopy());
}

#ifdef __BLOCKS__
extern "C" void *_Block_copy(const void *block);
extern "C" void _Block_release(const void *block);
namespace detail {
/// Keeps a block alive in a std::function.
template <class _Signature> class CopiedBlock;
template <class _Result, class... _Arguments> class CopiedBlock<_Result(_Arguments...)> {
public:
  using Block = _Result (^)(_Arguments...);
  explicit CopiedBlock(Block block) : block_(copyOf(block)) {}
  CopiedBlock(const CopiedBlock &other) : block_(copyOf(other.block_)) {}
  CopiedBlock &operator=(const CopiedBlock &) = delete;
  ~CopiedBlock() {
    if (block_)
      _Block_release(reinterpret_cast<const void *>(block_));
  }
  _Result operator()(_Arguments... arguments) const { return block_(arguments...); }

private:
  static Block copyOf(Block block) {
    if (!block)
      return nullptr;
    return reinterpret_cast<Block>(_Block_copy(reinterpret_cast<const void *>(block)));
  }
  Block block_;
};
} // namespace detail
#endif

} // namespace NS
