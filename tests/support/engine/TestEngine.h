// SPDX-License-Identifier: Apache-2.0
//
// Engines for tests: one per model file, math mode and cache type, made once per program, because
// building kernels takes longer than most tests.
#pragma once
#include "engine/Goldens.h"
#include "engine/SmallModel.h"
#include "muse/Generation.h"
#include <gtest/gtest.h>
#include <map>

namespace pewter::testing {

inline std::shared_ptr<muse::Context> contextOf(muse::MathMode math) {
  static std::map<muse::MathMode, std::shared_ptr<muse::Context>> contexts;
  auto &context = contexts[math];
  if (!context) {
    auto made = muse::Context::create({.math = math});
    if (!made)
      throw std::runtime_error(made.error().describe());
    context = *made;
  }
  return context;
}

inline std::shared_ptr<muse::Engine> makeEngine(std::shared_ptr<const muse::GgufModel> model,
                                                muse::MathMode math, muse::EngineOptions options = {}) {
  auto engine = muse::Engine::create(contextOf(math), std::move(model), std::move(options));
  if (!engine)
    throw std::runtime_error(engine.error().describe());
  return *engine;
}

inline std::shared_ptr<muse::Engine> engineOf(const std::string &file, muse::MathMode math = muse::MathMode::Strict,
                                              muse::KvType kv = muse::KvType::F16) {
  static std::map<std::tuple<std::string, muse::MathMode, muse::KvType>, std::shared_ptr<muse::Engine>> engines;
  auto &engine = engines[{file, math, kv}];
  if (!engine)
    engine = makeEngine(loadModel(file), math, {.kv = kv});
  return engine;
}

inline std::unique_ptr<muse::Sequence> sequenceOf(std::shared_ptr<muse::Engine> engine, uint32_t id = 0) {
  auto sequence = muse::Sequence::create(std::move(engine), {.id = id});
  if (!sequence)
    throw std::runtime_error(sequence.error().describe());
  return std::move(*sequence);
}

/// A model in memory that stays alive with the engine.
inline std::shared_ptr<const muse::GgufModel> modelOf(const SmallModel &small) {
  struct Holder {
    Bytes bytes;
    std::shared_ptr<const muse::GgufModel> model;
  };
  auto holder = std::make_shared<Holder>();
  holder->bytes = small.build();
  holder->model = muse::GgufModel::fromBytes(holder->bytes, "small").value();
  return {holder, holder->model.get()};
}

} // namespace pewter::testing
