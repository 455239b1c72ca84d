// SPDX-License-Identifier: Apache-2.0
//
// spinPause: what a thread does between two looks at a value that another thread will change soon.
#pragma once

namespace pewter::device {

inline void spinPause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

} // namespace pewter::device
