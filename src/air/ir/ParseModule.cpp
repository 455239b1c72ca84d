// SPDX-License-Identifier: Apache-2.0
// Bitcode in, verified module out. LLVM's reader upgrades typed pointers and old attributes. What
// it gives back is not trusted before the verifier has seen it.
#include "air/ir/AirModule.h"
#include "air/ir/Canonicalize.h"
#include "air/ir/PassError.h"
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>

namespace pewter::air::ir {

Result<std::unique_ptr<llvm::Module>> parseModule(ByteView bitcode, llvm::LLVMContext &context) {
  ErrorCollector errors(context);
  const llvm::StringRef text(reinterpret_cast<const char *>(bitcode.data()), bitcode.size());
  auto parsed = llvm::parseBitcodeFile(llvm::MemoryBufferRef(text, "AIR module"), context);
  if (!parsed)
    return fail(ErrorKind::Compile, "The AIR module ({} bytes) cannot be read: {}.", bitcode.size(),
                llvm::toString(parsed.takeError()));
  PEWTER_TRY_VOID(errors.result());
  std::unique_ptr<llvm::Module> module = std::move(*parsed);
  PEWTER_TRY_VOID(verifyAirModule(*module));
  return module;
}

Result<void> verifyAirModule(const llvm::Module &module) {
  std::string problems;
  llvm::raw_string_ostream stream(problems);
  if (llvm::verifyModule(module, &stream))
    return fail(ErrorKind::Compile, "AIR module \"{}\" is not valid: {}",
                module.getModuleIdentifier(), llvm::StringRef(problems).rtrim().str());
  const std::string layout = module.getDataLayoutStr();
  if (layout != kDataLayout)
    return fail(ErrorKind::Compile, "AIR module \"{}\" has data layout \"{}\"; \"{}\" is expected.",
                module.getModuleIdentifier(), layout, kDataLayout);
  return {};
}

} // namespace pewter::air::ir
