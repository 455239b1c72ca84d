// SPDX-License-Identifier: Apache-2.0
//
// KernelReflection: what a compute function says about itself, as plain data: its arguments in the
// order of the LLVM parameters, its function constants, and its limits. Made from `!air.kernel`
// metadata by air/ir, carried inside every compiled kernel image, and shown by the API and by
// `pewter inspect`. Values; no LLVM; any thread.
#pragma once
#include "air/DataType.h"
#include "base/Bytes.h"
#include <string>
#include <vector>

namespace pewter::air {

/// The width of a SIMD group on every Apple GPU, and here.
inline constexpr uint32_t kSimdWidth = 32;

enum class AddressSpace : uint8_t { Thread = 0, Device = 1, Constant = 2, Threadgroup = 3 };
enum class Access : uint8_t { Read, Write, ReadWrite, Sample };

enum class ArgumentKind : uint8_t {
  Buffer,            ///< A device or constant pointer; slot is its [[buffer(n)]].
  ThreadgroupMemory, ///< A threadgroup pointer whose size the host sets; slot is
                     ///< [[threadgroup(n)]].
  Texture,           ///< slot is [[texture(n)]].
  Sampler,           ///< slot is [[sampler(n)]].
  Builtin,           ///< A by-value coordinate such as [[thread_position_in_grid]].
  Unsupported,       ///< Kept so that an error can name it (`metadataKind`).
};

/// The by-value inputs of a kernel, named as in AIR metadata without the "air." prefix.
enum class Builtin : uint8_t {
  None,
  ThreadPositionInGrid,
  ThreadPositionInThreadgroup,
  ThreadIndexInThreadgroup,
  ThreadgroupPositionInGrid,
  ThreadsPerGrid,
  ThreadsPerThreadgroup,
  ThreadgroupsPerGrid,
  DispatchThreadsPerThreadgroup,
  ThreadIndexInSimdgroup,
  SimdgroupIndexInThreadgroup,
  SimdgroupsPerThreadgroup,
  DispatchSimdgroupsPerThreadgroup,
  ThreadsPerSimdgroup,
  ThreadIndexInQuadgroup,
  QuadgroupIndexInThreadgroup,
  QuadgroupsPerThreadgroup,
  DispatchQuadgroupsPerThreadgroup,
  GridOrigin,
  GridSize,
};

inline constexpr unsigned kDeepestMember = 8; ///< Of structs in argument buffers.

struct StructMember {
  std::string name;
  std::string typeName;       ///< MSL spelling.
  uint32_t offset = 0;        ///< Bytes from the start of the struct.
  uint32_t size = 0;          ///< Bytes of one element.
  uint32_t arrayLength = 0;   ///< 0 when it is not an array.
  uint32_t argumentIndex = 0; ///< [[id(n)]] in argument buffers.
  /// Of an argument buffer's member that is a struct with resources, or points to one: what that holds.
  std::vector<StructMember> members;
  uint32_t pointeeSize = 0; ///< Bytes of the struct that `members` describes behind a pointer.
};

/// The kind of an argument that is a visible_function_table; it is bound like a buffer.
inline constexpr const char *kFunctionTable = "air.visible_function_table";

/// How many ids the members of an argument buffer take.
uint32_t idsOf(const std::vector<StructMember> &members);

struct Argument {
  ArgumentKind kind = ArgumentKind::Unsupported;
  uint32_t parameter = 0;   ///< Index of the LLVM parameter.
  uint32_t slot = 0;        ///< Binding index; unused for built-ins.
  uint32_t arrayLength = 1; ///< Number of consecutive slots.
  AddressSpace addressSpace = AddressSpace::Device;
  Access access = Access::Read;
  Builtin builtin = Builtin::None;
  uint32_t dataSize = 0;      ///< Size of the pointee in bytes; 0 when unknown (void *).
  uint32_t dataAlignment = 0; ///< Alignment of the pointee in bytes; 0 when unknown.
  uint32_t boundSize = 0;     ///< For a reference: bytes that must be bound; 0 for a pointer.
  bool used = true;           ///< False when the source never reads it, or a gate removed it.
  bool isArgumentBuffer = false;
  std::string name;         ///< Source name.
  std::string typeName;     ///< MSL spelling of the pointee or value type.
  std::string metadataKind; ///< The AIR kind string, for messages.
  std::vector<StructMember> members;
};

struct FunctionConstant {
  std::string name;
  DataType type = DataType::None;
  uint32_t index = 0;
  bool required = false;
};

struct KernelReflection {
  std::string name;
  std::vector<Argument> arguments;               ///< In parameter order.
  std::vector<FunctionConstant> constants;       ///< In index order.
  uint32_t maxTotalThreadsPerThreadgroup = 1024; ///< From the attribute, else Metal's limit.
  uint32_t staticThreadgroupBytes = 0; ///< Threadgroup variables, before the host's blocks.
  bool usesThreadgroupBarrier = false;
  bool usesSimdgroupOperations = false;
};

/// A stable binary form; decode checks every length and names what is wrong.
Bytes encode(const KernelReflection &reflection);
Result<KernelReflection> decodeReflection(ByteView bytes);

} // namespace pewter::air
