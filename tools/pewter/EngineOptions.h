// SPDX-License-Identifier: Apache-2.0
//
// The options that every engine command has, and what they make: an engine and a sequence.
#pragma once
#include "muse/Generation.h"
#include <CLI/CLI.hpp>

namespace pewter::tools {

struct EngineFlags {
  std::string model;         ///< "" is the model that Pewter ships.
  uint32_t context = 0;
  uint32_t threads = 0;
  std::string device, math = "fast", kv = "f16", activations = "f32", geometry = "auto", matvec;
  std::string prebuiltLibrary;
  bool serialPrefill = false;
  bool quiet = false;
  void addTo(CLI::App &command);
};

struct SamplerFlags {
  muse::SamplerOptions options;
  int64_t seed = -1;
  std::vector<std::string> bias;
  void addTo(CLI::App &command);
  Result<muse::SamplerOptions> build() const;
};

/// Loads the model and makes the kernels; a progress line on a terminal.
Result<std::shared_ptr<muse::Engine>> makeEngine(const EngineFlags &flags);

/// Prints an error for a person and gives the exit status.
int report(const Error &error);

/// A line on stderr that is drawn over itself, on a terminal only.
class ProgressLine {
public:
  explicit ProgressLine(bool quiet);
  ~ProgressLine() { clear(); }
  void show(std::string_view what, double fraction);
  void clear();
  bool visible() const { return on_; }

private:
  bool on_, drawn_ = false;
};

} // namespace pewter::tools
