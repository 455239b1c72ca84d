// SPDX-License-Identifier: Apache-2.0
//
// Peers: libraries that Apple's tools built, from public npm packages (scripts/fetch-peers.sh). A
// test that finds none skips itself with a message that says what to run.
#pragma once
#include "base/Bytes.h"
#include <filesystem>
#include <string>

namespace pewter::testing {

inline std::filesystem::path peerPath(const std::string &package, const std::string &file) {
  return std::filesystem::path(PEWTER_SOURCE_DIR) / ".cache/peers" / package / "package/cpp" / file;
}

inline const std::filesystem::path kLlamaLibrary =
    peerPath("llama.rn@0.8.3", "ggml-metal/ggml-llama.metallib"); ///< 574 kernels.
inline const std::filesystem::path kOldLlamaLibrary =
    peerPath("llama.rn@0.5.11", "ggml-llama.metallib"); ///< 354 kernels.
inline const std::filesystem::path kWhisperLibrary =
    peerPath("whisper.rn@0.4.3", "ggml-whisper.metallib"); ///< 385 kernels.

} // namespace pewter::testing

/// Skips the test when `path` is not there.
#define PEWTER_NEEDS_PEER(path)                                                                    \
  if (!std::filesystem::exists(path))                                                              \
  GTEST_SKIP() << (path) << " is not here; scripts/fetch-peers.sh fetches it."
