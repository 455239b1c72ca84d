// SPDX-License-Identifier: Apache-2.0
#include "runner/AirText.h"
#include <cstdio>
#include <cstdlib>
#include <llvm/AsmParser/Parser.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>

namespace pewter::testing {
namespace {

AirParameter buffer(const std::string &name, uint32_t slot, uint32_t space, const char *access) {
  return {fmt::format("ptr addrspace({}) %{}", space, name),
          fmt::format("!\"air.buffer\", !\"air.location_index\", i32 {}, i32 1, !\"{}\", "
                      "!\"air.address_space\", i32 {}, !\"air.arg_type_size\", i32 4, "
                      "!\"air.arg_type_align_size\", i32 4, !\"air.arg_type_name\", !\"int\", "
                      "!\"air.arg_name\", !\"{}\"",
                      slot, access, space, name)};
}

} // namespace

AirParameter device(const std::string &name, uint32_t slot) {
  return buffer(name, slot, 1, "air.read_write");
}
AirParameter constant(const std::string &name, uint32_t slot) {
  return buffer(name, slot, 2, "air.read");
}
AirParameter threadgroup(const std::string &name, uint32_t slot) {
  return buffer(name, slot, 3, "air.read_write");
}
AirParameter builtin(const std::string &name, const std::string &type, const std::string &kind) {
  std::string spelled = type == "i32"         ? "uint"
                        : type == "i16"       ? "ushort"
                        : type == "<3 x i32>" ? "uint3"
                                              : type;
  return {type + " %" + name, fmt::format("!\"air.{}\", !\"air.arg_type_name\", !\"{}\", "
                                          "!\"air.arg_name\", !\"{}\"",
                                          kind, spelled, name)};
}

std::shared_ptr<const Bytes> bitcodeOf(const std::string &text) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  auto module = llvm::parseAssemblyString(text, diagnostic, context);
  if (!module) {
    diagnostic.print("kernel text", llvm::errs());
    std::exit(1);
  }
  llvm::SmallVector<char, 0> bitcode;
  llvm::raw_svector_ostream out(bitcode);
  llvm::WriteBitcodeToFile(*module, out);
  ByteView view = viewOf({bitcode.data(), bitcode.size()});
  return std::make_shared<Bytes>(view.begin(), view.end());
}

KernelCase airKernel(const std::vector<AirParameter> &parameters, const std::string &body,
                     const std::string &globals) {
  std::string declaration, nodes, list;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const char *comma = i ? ", " : "";
    declaration += comma + parameters[i].declaration;
    list += fmt::format("{}!{}", comma, i + 10);
    nodes += fmt::format("!{} = !{{i32 {}, {}}}\n", i + 10, i, parameters[i].metadata);
  }
  std::string text = fmt::format(
      "target datalayout = \"e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-"
      "f64:64:64-v16:16:16-v24:32:32-v32:32:32-v48:64:64-v64:64:64-v96:128:128-v128:128:128-"
      "v192:256:256-v256:256:256-v512:512:512-v1024:1024:1024-n8:16:32\"\n"
      "target triple = \"air64-apple-macosx15.0.0\"\n"
      "{}\ndefine void @kernel_under_test({}) #0 {{\n{}\n}}\n"
      "attributes #0 = {{ convergent nounwind \"no-builtins\" }}\n"
      "!air.kernel = !{{!0}}\n!air.version = !{{!3}}\n!air.language_version = !{{!4}}\n"
      "!0 = !{{ptr @kernel_under_test, !1, !2}}\n!1 = !{{}}\n!2 = !{{{}}}\n"
      "!3 = !{{i32 2, i32 7, i32 0}}\n!4 = !{{!\"Metal\", i32 3, i32 2, i32 0}}\n{}",
      globals, declaration, body, list, nodes);
  KernelCase test;
  test.module = bitcodeOf(text);
  test.function = "kernel_under_test";
  return test;
}

} // namespace pewter::testing
