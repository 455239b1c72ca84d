// SPDX-License-Identifier: Apache-2.0
// pewter-opt: runs passes by name on AIR (text, bitcode, or one kernel of a .metallib) and prints
// the module. All passes of LLVM are known too, and LLVM's own flags work (-print-after-all,
// -verify-each, -stats). Exit codes: 0 done, 1 failed.
//
//   pewter-opt -passes=guard-arithmetic kernel.ll
//   pewter-opt -passes=canonicalize -kernel=kernel_add -constant=600=4 library.metallib
#include "air/Metallib.h"
#include "air/ir/ExtractKernel.h"
#include "air/ir/FunctionConstants.h"
#include "air/ir/PassError.h"
#include "air/ir/Pipeline.h"
#include "air/ir/TargetInfo.h"
#include <cstring>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Verifier.h>
#include <llvm/IRReader/IRReader.h>
#include <llvm/Passes/StandardInstrumentations.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/InitLLVM.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/ToolOutputFile.h>

namespace {

namespace cl = llvm::cl;

cl::opt<std::string> passNames("passes", cl::desc("Passes to run, separated by commas"));
cl::opt<std::string> inputName(cl::Positional, cl::desc("<.ll, .bc, .air or .metallib>"),
                               cl::init("-"));
cl::opt<std::string> outputName("o", cl::desc("Output file"), cl::init("-"));
cl::opt<std::string> kernelName("kernel", cl::desc("The kernel, where there are several"));
cl::list<std::string> constantTexts("constant", cl::desc("INDEX=VALUE of a function constant"));
cl::opt<bool> writesBitcode("emit-bitcode", cl::desc("Write bitcode, not text"));
cl::opt<bool> writesText("S", cl::desc("Write text (the default)"));
cl::opt<bool> verifiesEach("verify-each", cl::desc("Verify after every pass"));

int problem(const llvm::Twine &text) {
  llvm::errs() << "pewter-opt: " << text << "\n";
  return 1;
}

/// The bytes to parse: a file's, or those of one function of a container.
pewter::Result<std::unique_ptr<llvm::MemoryBuffer>> readInput() {
  auto file = llvm::MemoryBuffer::getFileOrSTDIN(inputName);
  if (!file)
    return pewter::fail(pewter::ErrorKind::Io, "\"{}\" cannot be read: {}.", inputName.getValue(),
                        file.getError().message());
  const pewter::ByteView bytes =
      std::as_bytes(std::span((*file)->getBufferStart(), (*file)->getBufferSize()));
  if (!pewter::air::isMetallib(bytes))
    return std::move(*file);
  PEWTER_TRY(const pewter::air::Metallib library, pewter::air::readMetallib(bytes));
  for (const pewter::air::MetallibFunction &function : library.functions)
    if (function.name == kernelName || library.functions.size() == 1)
      return llvm::MemoryBuffer::getMemBufferCopy(
          llvm::StringRef(reinterpret_cast<const char *>(function.module.data()),
                          function.module.size()),
          function.name);
  return pewter::fail(pewter::ErrorKind::Validation,
                      "\"{}\" has {} functions, none of them \"{}\"; name one with -kernel.",
                      inputName.getValue(), library.functions.size(), kernelName.getValue());
}

/// Values from the command line, in the types that the module declares.
pewter::Result<std::vector<pewter::compiler::ConstantValue>> constants(const llvm::Module &module) {
  using namespace pewter;
  std::vector<compiler::ConstantValue> values;
  if (constantTexts.empty())
    return values;
  PEWTER_TRY(const auto placeholders, air::ir::readPlaceholders(module));
  for (const std::string &text : constantTexts) {
    const auto [indexText, valueText] = llvm::StringRef(text).split('=');
    compiler::ConstantValue value;
    double number = 0;
    if (indexText.getAsInteger(10, value.index) || valueText.getAsDouble(number))
      return fail(ErrorKind::Validation, "-constant={} is not INDEX=NUMBER.", text);
    for (const auto &placeholder : placeholders)
      if (placeholder.constant.index == value.index)
        value.type = placeholder.constant.type;
    const auto [scalar, count] = air::componentsOf(value.type);
    for (uint32_t i = 0; i < count; ++i) {
      std::byte *to = value.bytes.data() + i * air::sizeOf(scalar);
      const auto integer = static_cast<int64_t>(number);
      const auto real = static_cast<float>(number);
      if (scalar == air::DataType::Float)
        std::memcpy(to, &real, sizeof(real));
      else
        std::memcpy(to, &integer, air::sizeOf(scalar));
    }
    values.push_back(value);
  }
  return values;
}

int run() {
  using namespace pewter;
  llvm::LLVMContext context;
  auto input = readInput();
  if (!input)
    return problem(input.error().describe());
  llvm::SMDiagnostic diagnostic;
  std::unique_ptr<llvm::Module> module = llvm::parseIR(**input, diagnostic, context);
  if (!module) {
    diagnostic.print("pewter-opt", llvm::errs());
    return 1;
  }
  if (llvm::verifyModule(*module, &llvm::errs()))
    return problem("the input is not valid");
  auto values = constants(*module);
  if (!values)
    return problem(values.error().describe());

  llvm::PassInstrumentationCallbacks callbacks;
  llvm::StandardInstrumentations instrumentations(context, /*DebugLogging=*/false, verifiesEach);
  air::ir::AnalysisManagers analyses(&callbacks);
  instrumentations.registerCallbacks(callbacks, &analyses.modules);
  air::ir::registerPasses(analyses.builder, {kernelName, *values, {}, 1});
  llvm::ModulePassManager passes;
  if (auto error = analyses.builder.parsePassPipeline(passes, passNames))
    return problem(llvm::toString(std::move(error)));
  air::ir::ErrorCollector errors(context);
  passes.run(*module, analyses.modules);
  if (errors.first())
    return problem("error: " + errors.first()->describe());
  if (llvm::verifyModule(*module, &llvm::errs()))
    return problem("the output is not valid");

  std::error_code code;
  llvm::ToolOutputFile output(outputName, code, llvm::sys::fs::OF_None);
  if (code)
    return problem("\"" + outputName + "\" cannot be written: " + code.message());
  if (writesBitcode)
    llvm::WriteBitcodeToFile(*module, output.os());
  else
    module->print(output.os(), nullptr);
  output.keep();
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::ParseCommandLineOptions(argc, argv, "Runs passes on AIR modules.\n");
  return run();
}
