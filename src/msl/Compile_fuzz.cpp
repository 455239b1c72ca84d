// SPDX-License-Identifier: Apache-2.0
//
// Sources made of MSL's own words, so that many get past the parser: the input's bytes choose words,
// names and numbers. An input that begins with an even byte is taken as text instead.
#include "msl/Compile.h"
#include <iterator>
#include <string>

namespace {

constexpr const char *kWords[] = {
    "kernel void k(", "device ", "constant ", "threadgroup ", "thread ", "float ", "half4 ", "uint ",
    "uint3 ", "bool ", "auto ", "const ", "*", "&", "(", ")", "{", "}", "[", "]", "[[", "]]", ";", ",",
    "=", "+", "-", "/", "<", ">", "?", ":", "::", ".", "->", "<<", "#include <metal_stdlib>\n",
    "using namespace metal;\n", "template <typename T> ", "template <int N> ", "struct S ", "if ", "for ",
    "while ", "return ", "a", "b", "i", "n", "S", "T", ".xyz", ".wx", "0", "1", "1.5", "2.0h", "4u",
    "[[buffer(0)]]", "[[threadgroup(0)]]", "[[thread_position_in_grid]]", "[[kernel]] ",
    "[[host_name(\"x\")]] ", "[[function_constant(0)]]", "simd_sum(", "threadgroup_barrier(mem_flags::mem_none);",
    "atomic_uint ", "texture2d<float, access::read> ", "is_function_constant_defined(n)", "float4(1)",
    "as_type<uint>(", "simdgroup_float8x8 ", "#define M(x) x\n", "M(", "#pragma METAL fp math_mode(safe)\n",
    "[=](int x) ", "static_assert(", "constexpr ", "sizeof(", "packed_float3 ", "float4x4 ", "\n"};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 2 || size > 4096)
    return 0;
  pewter::compiler::SourceRequest request;
  request.mathMode = data[1] & 1 ? pewter::compiler::MathMode::Safe : pewter::compiler::MathMode::Fast;
  if (data[0] & 1) {
    for (size_t i = 2; i < size; ++i) {
      request.source += kWords[data[i] % std::size(kWords)];
      request.source += ' ';
    }
  } else {
    request.source.assign(reinterpret_cast<const char *>(data + 2), size - 2);
  }
  const auto image = pewter::msl::compileSource(request);
  // Whatever the source is, what comes back is a library or a message.
  if (!image && image.error().message().empty())
    __builtin_trap();
  return 0;
}
