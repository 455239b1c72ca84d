// SPDX-License-Identifier: Apache-2.0
//
// Nothing of QuartzCore has a meaning without a display; the header exists so that programs that
// include all three of Apple's headers compile.
#pragma once
#include "../Metal/Metal.hpp"
