// SPDX-License-Identifier: Apache-2.0
// Headers that most tests include. For speed of the build alone: every source still includes what it
// uses.
#pragma once
#include "PrecompiledStd.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
