// SPDX-License-Identifier: Apache-2.0
//
// Spellings that the NS headers share. NS_PRIVATE_IMPLEMENTATION and its siblings, which programs
// define before including Apple's headers, change nothing here: the implementation is in libpewter.
#pragma once

#if defined(__GNUC__)
#define _NS_EXPORT __attribute__((visibility("default")))
#define _NS_PACKED __attribute__((packed))
#else
#define _NS_EXPORT
#define _NS_PACKED
#endif
#define _NS_EXTERN extern _NS_EXPORT
#define _NS_INLINE inline
#define _NS_CONST(type, name) _NS_EXTERN type const name
#define _NS_ENUM(type, name) enum name : type
#define _NS_OPTIONS(type, name)                                                                    \
  using name = type;                                                                               \
  enum : name
