// SPDX-License-Identifier: Apache-2.0
#include "MathJit.h"
#include "air/ir/MathLibrary.h"
#include <cstdio>
#include <cstdlib>
#include <llvm/ExecutionEngine/Orc/ThreadSafeModule.h>
#include <llvm/Support/TargetSelect.h>

using namespace llvm;

namespace {
[[noreturn]] void die(Error error) {
  std::fprintf(stderr, "math_accuracy: %s\n", toString(std::move(error)).c_str());
  std::exit(2);
}
} // namespace

MathJit::MathJit() {
  InitializeNativeTarget();
  InitializeNativeTargetAsmPrinter();
  auto jit = orc::LLJITBuilder().create();
  if (!jit)
    die(jit.takeError());
  jit_ = std::move(*jit);
  auto context = std::make_unique<LLVMContext>();
  std::unique_ptr<Module> library = pewter::air::ir::loadMathLibrary(*context);
  if (Error error = library->materializeAll())
    die(std::move(error));
  library->setDataLayout(jit_->getDataLayout());
  library->setTargetTriple(jit_->getTargetTriple());
  for (Function &function : *library) { // the machine's own instructions
    function.removeFnAttr("target-cpu");
    function.removeFnAttr("target-features");
    function.removeFnAttr("tune-cpu");
  }
  if (Error error = jit_->addIRModule(
          orc::ThreadSafeModule(std::move(library), orc::ThreadSafeContext(std::move(context)))))
    die(std::move(error));
}

bool MathJit::has(const std::string &name) const {
  return pewter::air::ir::hasMathFunction(name);
}

void *MathJit::address(const std::string &name) {
  auto symbol = jit_->lookup(name);
  if (!symbol)
    die(symbol.takeError());
  return symbol->toPtr<void *>();
}
