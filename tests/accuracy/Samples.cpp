// SPDX-License-Identifier: Apache-2.0
#include "Samples.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

float floatOfBits(uint32_t bits) { return std::bit_cast<float>(bits); }
uint32_t bitsOfFloat(float x) { return std::bit_cast<uint32_t>(x); }

uint64_t Random::next() {
  state_ += 0x9e3779b97f4a7c15;
  uint64_t z = state_;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

double Random::uniform(double low, double high) {
  return low + (high - low) * (static_cast<double>(next() >> 11) * 0x1p-53);
}

float Random::anyFloat() {
  uint32_t bits;
  do
    bits = static_cast<uint32_t>(next());
  while ((bits & 0x7f800000) == 0x7f800000);
  return floatOfBits(bits);
}

void Worst::note(double found, float atX, float atY) {
  ++samples;
  if (!(found <= error)) {
    error = found;
    x = atX;
    y = atY;
  }
}

double ulpError(float got, double reference, bool flushes) {
  const double infinity = std::numeric_limits<double>::infinity();
  if (std::isnan(reference) || std::isnan(got))
    return std::isnan(reference) && std::isnan(got) ? 0 : infinity;
  // What rounds to infinity is at 2^128 for the measure.
  double size = std::fabs(reference);
  if (std::isinf(got)) {
    if (std::signbit(got) != std::signbit(reference))
      return infinity;
    return size >= 0x1.ffffffp127 ? 0 : std::isinf(reference) ? 0 : (0x1p128 - size) / 0x1p104;
  }
  if (std::isinf(reference) || size > 0x1p128)
    return (0x1p128 - std::fabs(got)) / 0x1p104 < 8 ? (0x1p128 - std::fabs(got)) / 0x1p104 : infinity;
  if (flushes && size < 0x1p-126 && got == 0)
    return 0;
  int exponent = size < 0x1p-126 ? -126 : std::ilogb(size);
  return std::fabs(got - reference) / std::ldexp(1.0, exponent - 23);
}

void sweep(float low, float high, uint64_t count, const std::function<void(float)> &visit) {
  auto ordered = [](float x) -> int64_t {
    uint32_t bits = bitsOfFloat(x);
    return bits >> 31 ? -static_cast<int64_t>(bits & 0x7fffffff) : static_cast<int64_t>(bits);
  };
  auto floatAt = [](int64_t i) {
    return i < 0 ? floatOfBits(0x80000000u | static_cast<uint32_t>(-i))
                 : floatOfBits(static_cast<uint32_t>(i));
  };
  int64_t first = ordered(low), last = ordered(high);
  int64_t stride = std::max<int64_t>(1, (last - first) / static_cast<int64_t>(count)) | 1;
  for (int64_t i = first; i <= last; i += stride)
    visit(floatAt(i));
  visit(high);
  Random random(static_cast<uint64_t>(first) * 31 + static_cast<uint64_t>(last));
  for (uint64_t i = 0; i < count; ++i)
    visit(static_cast<float>(random.uniform(low, high)));
}
