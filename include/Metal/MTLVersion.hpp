// SPDX-License-Identifier: Apache-2.0
//
// The version of Apple's C++ API for Metal whose compute part these headers declare.
#pragma once

#define METALCPP_VERSION_MAJOR 370
#define METALCPP_VERSION_MINOR 63
#define METALCPP_VERSION_PATCH 1

/// True when a header of version major.minor.patch compiles against these.
#define METALCPP_SUPPORTS_VERSION(major, minor, patch)                                             \
  (((major) < METALCPP_VERSION_MAJOR) ||                                                           \
   ((major) == METALCPP_VERSION_MAJOR && (minor) < METALCPP_VERSION_MINOR) ||                      \
   ((major) == METALCPP_VERSION_MAJOR && (minor) == METALCPP_VERSION_MINOR &&                      \
    (patch) <= METALCPP_VERSION_PATCH))
