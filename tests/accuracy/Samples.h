// SPDX-License-Identifier: Apache-2.0
//
// What math_accuracy measures with: walks over float bit patterns, errors in units of the last place,
// and the record of the worst sample.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

float floatOfBits(uint32_t bits);
uint32_t bitsOfFloat(float x);

/// A fixed sequence of pseudo-random 64-bit values.
class Random {
public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next();
  /// Uniform in [low, high).
  double uniform(double low, double high);
  /// Any finite float, every exponent alike.
  float anyFloat();

private:
  uint64_t state_;
};

struct Worst {
  double error = 0;
  float x = 0, y = 0;
  std::string problem; ///< A wrong special value; empty when none.
  uint64_t samples = 0;
  void note(double found, float atX, float atY = 0);
};

/// |got - reference| in units in the last place of the float nearest to the reference. Infinity where
/// one is NaN or infinite and the other is not. `flushes`: a denormal result may be a zero.
double ulpError(float got, double reference, bool flushes);

/// Calls `visit` with floats in [low, high]: about `count` bit patterns at an even stride, and as many
/// random points.
void sweep(float low, float high, uint64_t count, const std::function<void(float)> &visit);
