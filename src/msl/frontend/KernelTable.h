// SPDX-License-Identifier: Apache-2.0
//
// What a translation unit says about its kernels, read from the AST after parsing: names, arguments
// with slots and layouts, function constants. Also the checks that are MSL's rather than C++'s: a
// kernel returns void, each pointer argument has an address space, slots are in range and used once,
// coordinates have a type that can hold them, no two kernels share a name.
//
// Plain data; nothing of clang's outlives the run that made it.
#pragma once
#include "air/Metallib.h"
#include "air/Reflection.h"
#include "msl/frontend/Diagnostics.h"
#include <clang/AST/ASTContext.h>
#include <clang/AST/Decl.h>
#include <clang/CodeGen/ModuleBuilder.h>
#include <map>

namespace pewter::msl {

struct KernelEntry {
  air::KernelReflection reflection; ///< Without function constants: what is used shows in the IR.
  std::string symbol;               ///< The C++ function that the entry point calls.
  /// Per argument, the symbol of the constant that gates it; "" for none.
  std::vector<std::string> gates;
  std::vector<std::string> gateTypes; ///< MSL type name of each gate.
  std::vector<std::string> gateNames; ///< Source name of each gate.
};

struct ConstantEntry {
  air::FunctionConstant constant;
  std::string symbol;
  std::string typeCode; ///< Itanium code of the type, as placeholders are named by.
};

/// A function of another stage: the library lists it, and nothing runs it.
struct GraphicsEntry {
  std::string name;
  air::MetallibFunctionKind kind = air::MetallibFunctionKind::Vertex;
};

/// A function that functions of other modules call.
struct CalleeEntry {
  std::string name;   ///< As the library lists it; of an exported function its symbol.
  std::string symbol;
  std::string signature; ///< MSL spelling: "float (float)".
  bool isExport = false; ///< Of a dynamic library; else it is [[visible]].
};

/// A function that is declared and not defined, where it is first used.
struct UndefinedFunction {
  std::string diagnostic;  ///< What to say if a kernel calls it.
  bool isExternal = false; ///< Said to be elsewhere, by `extern` or [[visible]].
};

struct KernelTable {
  std::vector<KernelEntry> kernels;
  std::vector<CalleeEntry> callees;
  std::map<std::string, UndefinedFunction> undefined; ///< By symbol.
  std::vector<GraphicsEntry> graphics;
  std::vector<ConstantEntry> constants;
};

KernelTable readKernelTable(clang::ASTContext &context,
                            const std::vector<clang::Decl *> &declarations,
                            clang::CodeGenerator &generator, Diagnostics &diagnostics,
                            bool exportsFunctions = false);

} // namespace pewter::msl
