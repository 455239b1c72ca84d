// SPDX-License-Identifier: Apache-2.0
//
// The fixed strings and small readers that everything in air/ir shares: the AIR data layout, the
// names of the metadata lists, and safe access to operands of metadata nodes. Node readers return
// nothing rather than trap on a node of another shape, for modules come from outside.
#pragma once
#include "air/Reflection.h"
#include "base/Error.h"
#include <llvm/IR/Constants.h>
#include <llvm/IR/Metadata.h>
#include <llvm/IR/Module.h>
#include <optional>

namespace pewter::air::ir {

/// The one data layout of AIR, whatever its version.
inline constexpr const char *kDataLayout =
    "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-v16:16:16-"
    "v24:32:32-v32:32:32-v48:64:64-v64:64:64-v96:128:128-v128:128:128-v192:256:256-v256:256:256-"
    "v512:512:512-v1024:1024:1024-n8:16:32";

inline constexpr const char *kKernelList = "air.kernel";
inline constexpr const char *kCalleeList = "air.visible"; ///< {function, symbol, signature}
inline constexpr const char *kConstantList = "air.function_constants";
inline constexpr const char *kConstantSection = "air.fc_initializer";

inline constexpr unsigned kDeviceSpace = 1, kConstantSpace = 2, kThreadgroupSpace = 3;

/// LLVM's verifier and the data layout.
Result<void> verifyAirModule(const llvm::Module &module);

/// Operand `index` of `node` as a string; "" when there is none.
inline llvm::StringRef stringAt(const llvm::MDNode &node, unsigned index) {
  if (index < node.getNumOperands())
    if (const auto *text = llvm::dyn_cast_or_null<llvm::MDString>(node.getOperand(index).get()))
      return text->getString();
  return {};
}
inline std::optional<uint32_t> integerAt(const llvm::MDNode &node, unsigned index) {
  if (index < node.getNumOperands())
    if (const auto *value =
            llvm::mdconst::dyn_extract_or_null<llvm::ConstantInt>(node.getOperand(index)))
      if (value->getValue().getActiveBits() <= 32)
        return static_cast<uint32_t>(value->getZExtValue());
  return std::nullopt;
}
inline const llvm::MDNode *nodeAt(const llvm::MDNode &node, unsigned index) {
  if (index < node.getNumOperands())
    return llvm::dyn_cast_or_null<llvm::MDNode>(node.getOperand(index).get());
  return nullptr;
}
template <class T> T *globalAt(const llvm::MDNode &node, unsigned index) {
  if (index < node.getNumOperands())
    if (auto *value = llvm::mdconst::dyn_extract_or_null<llvm::Constant>(node.getOperand(index)))
      return llvm::dyn_cast<T>(value->stripPointerCasts());
  return nullptr;
}

} // namespace pewter::air::ir
