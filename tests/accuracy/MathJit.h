// SPDX-License-Identifier: Apache-2.0
//
// MathJit: the embedded math library compiled for this machine, functions by name.
#pragma once
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <memory>
#include <string>

class MathJit {
public:
  MathJit();
  bool has(const std::string &name) const;
  template <class F> F *function(const std::string &name) { return reinterpret_cast<F *>(address(name)); }

private:
  void *address(const std::string &name);
  std::unique_ptr<llvm::orc::LLJIT> jit_;
};
