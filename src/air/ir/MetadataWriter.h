// SPDX-License-Identifier: Apache-2.0
//
// MetadataWriter: AIR metadata out of plain data, the inverse of MetadataReader. A front-end fills
// a KernelReflection per kernel and calls these; what comes out is what Apple's compiler writes, so
// both read back alike. The grammar, one node per kernel in `!air.kernel`:
//
//   kernel    { ptr @fn, {}, { argument... } [, { "air.max_work_group_size", i32 }] }
//   argument  { i32 parameter, ["air.function_constant", { ptr @predicate, "type", "name" },]
//               kind, ... }
//   buffer    "air.buffer" or "air.indirect_buffer", ["air.buffer_size", i32],
//             "air.location_index", i32 slot, i32 count, access, "air.address_space", i32,
//             ["air.struct_type_info", { members }], ["air.arg_type_size", i32,
//             "air.arg_type_align_size", i32], "air.arg_type_name", "T", "air.arg_name", "x",
//             ["air.arg_unused"]
//   members   i32 offset, i32 size, i32 arrayLength, "type", "name"
//             [, "air.indirect_argument", { ... }]
//   texture   "air.texture", "air.location_index", i32, i32, access, names
//   sampler   "air.sampler", "air.location_index", i32, i32, names
//   built-in  "air.thread_position_in_grid" and so on, names
//
//   writeModuleMetadata(module, {});
//   GlobalVariable *n = createPlaceholder(module, {"n", DataType::Int, 7}, i32);
//   writeKernel(*function, reflection);
#pragma once
#include "air/ir/AirModule.h"
#include <array>
#include <span>

namespace pewter::air::ir {

struct ModuleMetadata {
  std::array<uint32_t, 3> airVersion{2, 7, 0};
  std::array<uint32_t, 3> languageVersion{3, 2, 0};
  bool fastMath = true;
  std::string producer = "Pewter";
  std::string sourceFile; ///< "" leaves air.source_file_name out.
};

/// Module flags, versions and compile options. Replaces what a front-end wrote under these names.
void writeModuleMetadata(llvm::Module &module, const ModuleMetadata &metadata);

/// The predicate of an argument: `predicate` is an i8 (or wider) global in space 2 that the static
/// initialiser sets; the writer keeps it alive through llvm.compiler.used.
struct WrittenGate {
  size_t argument = 0; ///< Index in KernelReflection::arguments.
  llvm::GlobalVariable *predicate = nullptr;
  std::string typeName; ///< MSL type of the predicate's constant.
  std::string name;
};

/// Appends the node of `function` to `!air.kernel`. `reflection.arguments` covers every parameter.
void writeKernel(llvm::Function &function, const KernelReflection &reflection,
                 std::span<const WrittenGate> gates = {});

/// The placeholder of a function constant: the global in section "air.fc_initializer" that a
/// pipeline fills, and its entry in `!air.function_constants`. Initialisers load it; kernels read a
/// copy.
/// Lists a function that other modules call: by its symbol, or through a table.
void writeCallee(llvm::Function &function, llvm::StringRef symbol, llvm::StringRef signature);

llvm::GlobalVariable *createPlaceholder(llvm::Module &module, const FunctionConstant &constant,
                                        llvm::Type *type);

} // namespace pewter::air::ir
