// SPDX-License-Identifier: Apache-2.0
//
// The Metal sources that peers publish, ready to compile, and how they relate to the libraries that
// Apple's compiler made.
#pragma once
#include "Peers.h"
#include "compiler/Compiler.h"
#include <optional>
#include <set>

namespace pewter::testing {

/// The source of the library of llama.rn 0.8.3.
struct PeerSource {
  compiler::SourceRequest request;
  std::set<std::string> changed; ///< Kernels of the library that this source has in another form.
  std::set<std::string> added;   ///< Kernels that the library does not have.
};

/// That package has no source. This is the revision of ggml that it was built from, where somebody
/// put it into .cache/peers.
inline std::optional<PeerSource> exactSourceOfLlamaLibrary() {
  const auto folder = std::filesystem::path(PEWTER_SOURCE_DIR) / ".cache/peers/ggml@d0f2203f";
  const auto text = readFile(folder / "ggml-metal.metal");
  if (!text)
    return std::nullopt;
  PeerSource source;
  source.request.source = textOf(*text);
  source.request.includeDirectories = {folder};
  source.request.macros = {{"GGML_METAL_HAS_BF16", "1"}};
  return source;
}

/// And this is what llama.rn 0.9.0 publishes: the same source but for what is listed here.
inline std::optional<PeerSource> publishedSourceOfLlamaLibrary() {
  const auto text = readFile(peerPath("llama.rn@0.9.0", "ggml-metal/ggml-metal.metal"));
  if (!text)
    return std::nullopt;
  PeerSource source;
  source.request.macros = {{"GGML_METAL_HAS_BF16", "1"}};
  // That package gives the names a prefix; its source holds the headers.
  std::string &body = source.request.source = textOf(*text);
  for (const auto &[from, to] : {std::pair{"lm_ggml", "ggml"}, {"LM_GGML", "GGML"}})
    for (size_t at = body.find(from); at != std::string::npos; at = body.find(from, at))
      body.replace(at, std::string_view(from).size(), to);
  // Sorting learnt to stop after the first elements and has other arguments since.
  source.changed = {"kernel_argsort_f32_i32_asc", "kernel_argsort_f32_i32_desc",
                    "kernel_argsort_merge_f32_i32_asc", "kernel_argsort_merge_f32_i32_desc"};
  source.added = {"kernel_cumsum_blk_f32", "kernel_cumsum_add_f32", "kernel_cpy_i32_i32"};
  return source;
}

/// The exact one if there is one.
inline std::optional<PeerSource> sourceOfLlamaLibrary() {
  auto exact = exactSourceOfLlamaLibrary();
  return exact ? exact : publishedSourceOfLlamaLibrary();
}

} // namespace pewter::testing
