// SPDX-License-Identifier: Apache-2.0
#include "air/ir/PassError.h"
#include <llvm/IR/DiagnosticHandler.h>
#include <llvm/Support/raw_ostream.h>

namespace pewter::air::ir {

int PassError::kind() {
  static const int kind = llvm::getNextAvailablePluginDiagnosticKind();
  return kind;
}

void report(llvm::LLVMContext &context, Error error) {
  context.diagnose(PassError(std::move(error)));
}

struct ErrorCollector::Handler : llvm::DiagnosticHandler {
  explicit Handler(ErrorCollector &owner) : owner(owner) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo &info) override {
    if (info.getSeverity() != llvm::DS_Error || owner.first_)
      return true;
    if (const auto *ours = llvm::dyn_cast<PassError>(&info)) {
      owner.first_ = ours->error();
      return true;
    }
    std::string text;
    llvm::raw_string_ostream stream(text);
    llvm::DiagnosticPrinterRawOStream printer(stream);
    info.print(printer);
    owner.first_ = Error(ErrorKind::Compile, text);
    return true;
  }
  ErrorCollector &owner;
};

ErrorCollector::ErrorCollector(llvm::LLVMContext &context)
    : context_(context), former_(context.getDiagnosticHandler()) {
  context_.setDiagnosticHandler(std::make_unique<Handler>(*this));
}

ErrorCollector::~ErrorCollector() { context_.setDiagnosticHandler(std::move(former_)); }

} // namespace pewter::air::ir
