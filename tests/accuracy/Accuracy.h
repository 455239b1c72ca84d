// SPDX-License-Identifier: Apache-2.0
//
// The parts of math_accuracy.
#pragma once
#include "MathJit.h"
#include <string>
#include <vector>

class Report {
public:
  void require(bool holds, const std::string &what);
  int checks() const { return checks_; }
  int failures() const { return failures_; }

private:
  int checks_ = 0, failures_ = 0;
};

/// Infinities, NaN, zeros, exact cases, and functions with two results.
void checkSpecialValues(MathJit &jit, Report &report);
/// The software instructions against the machine's.
void checkEmulation(MathJit &jit, Report &report);
