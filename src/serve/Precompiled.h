// SPDX-License-Identifier: Apache-2.0
// For speed of the build alone: every source still includes what it uses.
#pragma once
#include "muse/ChatTemplate.h"
#include "muse/Sequence.h"
#include <chrono>
#include <condition_variable>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>
