// SPDX-License-Identifier: Apache-2.0
#include "air/ir/MathLibrary.h"
#include "air/ir/BitcodeLibrary.h"
#include <set>

namespace pewter::air::ir {
using namespace llvm;

namespace {

alignas(8) const unsigned char kBitcode[] = {
#include "MathLibrary.inc"
};
constexpr BitcodeLibrary kLibrary{"MathLibrary", kBitcode};

} // namespace

std::unique_ptr<Module> loadMathLibrary(LLVMContext &context) { return kLibrary.load(context); }

bool hasMathFunction(StringRef name) {
  static const std::set<std::string, std::less<>> names = [] {
    std::set<std::string, std::less<>> found;
    LLVMContext context;
    for (const Function &function : *loadMathLibrary(context))
      if (function.getName().starts_with("pewter_"))
        found.insert(function.getName().str());
    return found;
  }();
  return names.contains(std::string_view(name));
}

void linkMathFunctions(Module &module) {
  kLibrary.link(module,
                [](StringRef name) { return name.starts_with("pewter_") && hasMathFunction(name); });
}

} // namespace pewter::air::ir
