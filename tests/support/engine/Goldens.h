// SPDX-License-Identifier: Apache-2.0
//
// Golden results of the test models, and how an engine is compared with them.
#pragma once
#include "base/Bytes.h"
#include "muse/GgufModel.h"
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>

namespace pewter::testing {

inline const std::filesystem::path kEngineData = PEWTER_SOURCE_DIR "/tests/engine/data";

inline nlohmann::json loadJson(const std::string &name) {
  return nlohmann::json::parse(textOf(readFile(kEngineData / name).value()));
}
inline nlohmann::json goldensOf(const std::string &file) { return loadJson("goldens-" + file + ".json"); }
inline std::shared_ptr<const muse::GgufModel> loadModel(const std::string &file) {
  return muse::GgufModel::open(kEngineData / file).value();
}
inline const nlohmann::json &promptNamed(const nlohmann::json &goldens, const std::string &name) {
  for (const auto &prompt : goldens["prompts"])
    if (prompt["name"] == name)
      return prompt;
  throw std::runtime_error("no golden prompt " + name);
}

/// The largest difference between a row of logits and golden numbers: the first sixteen logits, or log
/// probabilities of the best tokens.
inline double logitDifference(std::span<const float> logits, const nlohmann::json &golden) {
  double worst = 0;
  for (size_t i = 0; i < golden.size(); ++i)
    worst = std::max(worst, std::fabs(logits[i] - golden[i].get<double>()));
  return worst;
}
inline double logProbabilityDifference(std::span<const float> logits, const nlohmann::json &top, size_t count) {
  double most = *std::ranges::max_element(logits), sum = 0, worst = 0;
  for (float l : logits)
    sum += std::exp(l - most);
  for (size_t i = 0; i < count; ++i) {
    double expected = top[i][1], got = logits[top[i][0].get<size_t>()] - most - std::log(sum);
    worst = std::max(worst, std::fabs(expected - got));
  }
  return worst;
}
inline uint32_t argmax(std::span<const float> logits) {
  return static_cast<uint32_t>(std::ranges::max_element(logits) - logits.begin());
}

} // namespace pewter::testing
