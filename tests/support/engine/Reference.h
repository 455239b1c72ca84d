// SPDX-License-Identifier: Apache-2.0
//
// Reference: the model in plain loops over float32 weights, with a float32 cache that never forgets:
// what kernels and goldens are compared with. Its mistakes can be switched on one by one, to show that
// the goldens see each of them. ExactReference does everything behind the weights in double.
#pragma once
#include "muse/ModelConfig.h"
#include <vector>

namespace pewter::testing {

/// One thing done wrong.
enum class Mistake {
  None,
  WindowOneLess,
  WindowOneMore,
  NoWindow,
  PostEpsilon1e5,
  PostEpsilon1e6,
  RopeBase10000,
  RopeEverywhere,
  RopeHalfSplit,
  NoRope,
  NoSoftcap,
  Softcap30,
  LogitScale1,
  QueryNorm1,
  NoGate,
  NoEntryNorm,
  HeadsModulo,
};

/// Number: float or double.
template <class Number> class PlainModel {
public:
  PlainModel(const muse::GgufModel &model, const muse::ModelConfig &config, Mistake mistake = Mistake::None);
  /// Feeds a token; the result is the row of softcapped logits that follows it.
  std::vector<Number> step(uint32_t token, bool wantLogits = true);
  uint32_t position() const { return position_; }

private:
  struct Matrix {
    uint32_t inputs, outputs;
    std::vector<float> values;
  };
  struct Layer {
    Matrix q, k, v, gate, output, ffnGate, ffnUp, ffnDown;
    std::vector<float> attnNorm, qNorm, kNorm, postAttnNorm, ffnNorm, postFfnNorm;
    std::vector<Number> keys, values; ///< [position][kvDim]
    bool sliding;
  };
  Matrix matrix(const muse::GgufModel &model, const std::string &name) const;
  std::vector<Number> attend(Layer &layer, std::vector<Number> q, std::vector<Number> k,
                             const std::vector<Number> &v);
  void rotate(std::vector<Number> &x, uint32_t heads) const;

  muse::ModelConfig c_;
  Mistake mistake_;
  Matrix embedding_, head_;
  std::vector<float> outputNorm_;
  std::vector<Layer> layers_;
  uint32_t position_ = 0;
};

using Reference = PlainModel<float>;
using ExactReference = PlainModel<double>;

/// Natural log probabilities of a row of logits.
std::vector<double> logProbabilities(const std::vector<float> &logits);

} // namespace pewter::testing
