// SPDX-License-Identifier: Apache-2.0
//
// PassError: how a pass of air/ir reports what it cannot do. A pass calls `report`, leaves the
// module valid and returns; whoever runs the passes installs an ErrorCollector on the context and
// asks it afterwards. Without a collector the message goes where LLVM prints diagnostics.
#pragma once
#include "base/Error.h"
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LLVMContext.h>
#include <optional>

namespace pewter::air::ir {

class PassError : public llvm::DiagnosticInfo {
public:
  explicit PassError(Error error)
      : DiagnosticInfo(kind(), llvm::DS_Error), error_(std::move(error)) {}
  void print(llvm::DiagnosticPrinter &printer) const override { printer << error_.describe(); }
  const Error &error() const { return error_; }
  static int kind();
  static bool classof(const llvm::DiagnosticInfo *info) { return info->getKind() == kind(); }

private:
  Error error_;
};

void report(llvm::LLVMContext &context, Error error);

template <class... Args>
void report(llvm::LLVMContext &context, ErrorKind kind, fmt::format_string<Args...> format,
            Args &&...args) {
  report(context, Error(kind, fmt::format(format, std::forward<Args>(args)...)));
}

/// Catches errors of one context while it lives, and puts the former handler back.
class ErrorCollector {
public:
  explicit ErrorCollector(llvm::LLVMContext &context);
  ~ErrorCollector();
  ErrorCollector(const ErrorCollector &) = delete;
  ErrorCollector &operator=(const ErrorCollector &) = delete;
  /// The first error, if there was one.
  const std::optional<Error> &first() const { return first_; }
  Result<void> result() const {
    if (first_)
      return std::unexpected(*first_);
    return {};
  }

private:
  struct Handler;
  llvm::LLVMContext &context_;
  std::unique_ptr<llvm::DiagnosticHandler> former_;
  std::optional<Error> first_;
};

} // namespace pewter::air::ir
