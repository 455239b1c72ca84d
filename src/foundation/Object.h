// SPDX-License-Identifier: Apache-2.0
//
// What implementations of NS and MTL classes share: helpers for reference counts.
//
// An implementation class derives from the public class, adds the data, and names itself:
//
//   class Fence final : public MTL::Fence {
//   public:
//     const char *className() const override { return "MTLFence"; }
//     std::string label;
//   };
//
// Public methods find their object with implOf().
#pragma once
#include <Foundation/NSObject.hpp>
#include <Foundation/NSSharedPtr.hpp>
#include <type_traits>

namespace pewter::foundation {

inline constexpr std::uint32_t kImmortal = 0x80000000u;

template <class T> using Ref = NS::SharedPtr<T>;

/// A new reference to an object that somebody else owns.
template <class T> Ref<std::remove_const_t<T>> share(T *object) {
  return NS::RetainPtr(const_cast<std::remove_const_t<T> *>(object));
}

/// Gives an object that this call owns to the thread's autorelease pool.
template <class T> T *autoreleased(T *object) {
  NS::detail::autorelease(object);
  return object;
}

} // namespace pewter::foundation
