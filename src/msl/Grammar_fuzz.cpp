// SPDX-License-Identifier: Apache-2.0
//
// Programs that follow MSL's grammar: the input's bytes choose at every branch of it. Most compile; those
// that do are brought into canonical form, which must succeed or say why.
#include "air/Metallib.h"
#include "air/ir/Canonicalize.h"
#include "msl/Compile.h"
#include <string>
#include <vector>

namespace {

using namespace pewter;

class Grammar {
public:
  Grammar(const uint8_t *data, size_t size) : data_(data), size_(size) {}

  std::string program() {
    text_ = "#include <metal_stdlib>\nusing namespace metal;\n";
    for (unsigned i = pick(3); i > 0; --i)
      constant();
    for (unsigned i = pick(3); i > 0; --i)
      helper();
    for (unsigned i = 1 + pick(2); i > 0; --i)
      kernel();
    return text_;
  }

private:
  struct Name {
    std::string text, type;
    bool writable;
  };

  unsigned pick(unsigned count) { return at_ < size_ ? data_[at_++] % count : 0; }
  template <size_t N> const char *oneOf(const char *const (&choices)[N]) { return choices[pick(N)]; }
  std::string fresh() { return "v" + std::to_string(next_++); }

  std::string type() {
    static const char *const kScalars[] = {"float", "half", "int", "uint", "short", "uchar", "bool", "long", "bfloat"};
    const std::string scalar = oneOf(kScalars);
    const unsigned n = 1 + pick(4);
    return n == 1 ? scalar : scalar + std::to_string(n);
  }

  void constant() {
    const std::string t = type(), name = fresh();
    switch (pick(3)) {
    case 0:
      text_ += "constant " + t + " " + name + " [[function_constant(" + std::to_string(next_) + ")]];\n";
      break;
    case 1:
      text_ += "constant " + t + " " + name + "[3] = {" + t + "(1), " + t + "(2), " + t + "(3)};\n";
      names_.push_back({name + "[1]", t, false});
      return;
    default:
      text_ += "constant " + t + " " + name + " = " + t + "(" + std::to_string(pick(100)) + ");\n";
    }
    names_.push_back({name, t, false});
  }

  void helper() {
    const std::string t = type(), name = fresh(), parameter = fresh();
    const size_t scope = names_.size();
    const bool isTemplate = pick(4) == 0;
    text_ += isTemplate ? "template <class T> T " + name + "(T " + parameter + ", " + t + " w) {\n"
                        : t + " " + name + "(" + t + " " + parameter + ", " + t + " w) {\n";
    names_.push_back({parameter, t, true});
    names_.push_back({"w", t, true});
    statements(isTemplate ? 0 : 1 + pick(3), 2);
    text_ += isTemplate ? "return " + parameter + ";\n}\n" : "return " + expression(t, 2) + ";\n}\n";
    names_.resize(scope);
    helpers_.push_back({name, t, false});
  }

  void kernel() {
    const size_t scope = names_.size();
    const std::string t = type(), out = fresh();
    text_ += "kernel void k" + std::to_string(next_++) + "(device " + t + " *" + out + " [[buffer(0)]], constant " +
             t + " &u [[buffer(1)]], ";
    if (pick(3) == 0)
      text_ += "texture2d<float, access::read_write> image [[texture(0)]], ";
    text_ += "uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {\n";
    names_.push_back({out + "[i]", t, true});
    names_.push_back({"u", t, false});
    names_.push_back({"i", "uint", false});
    names_.push_back({"lane", "uint", false});
    if (pick(3) == 0) {
      const std::string shared = fresh();
      text_ += "threadgroup " + t + " " + shared + "[64];\n";
      names_.push_back({shared + "[i % 64]", t, true});
    }
    statements(2 + pick(6), 3);
    text_ += "}\n";
    names_.resize(scope);
  }

  void statements(unsigned count, unsigned depth) {
    for (unsigned i = 0; i < count; ++i)
      statement(depth);
  }
  void block(unsigned depth) {
    const size_t scope = names_.size();
    text_ += "{\n";
    statements(1 + pick(3), depth - 1);
    text_ += "}\n";
    names_.resize(scope);
  }
  void statement(unsigned depth) {
    if (text_.size() > 20000)
      return;
    switch (pick(depth > 0 ? 9 : 3)) {
    case 0: {
      const std::string t = type(), name = fresh();
      text_ += t + " " + name + " = " + expression(t, depth + 1) + ";\n";
      names_.push_back({name, t, true});
      return;
    }
    case 1:
    case 2: {
      for (size_t k = names_.size(); k-- > 0;)
        if (names_[k].writable && pick(2) == 0) {
          static const char *const kOperators[] = {" = ", " += ", " -= ", " *= "};
          text_ += names_[k].text + oneOf(kOperators) + expression(names_[k].type, depth + 1) + ";\n";
          return;
        }
      text_ += ";\n";
      return;
    }
    case 3:
      text_ += "if (" + condition(depth) + ") ";
      block(depth);
      if (pick(2)) {
        text_ += "else ";
        block(depth);
      }
      return;
    case 4: {
      const std::string name = fresh();
      text_ += "for (int " + name + " = 0; " + name + " < " + std::to_string(pick(9)) + "; ++" + name + ") ";
      names_.push_back({name, "int", false});
      block(depth);
      names_.pop_back();
      return;
    }
    case 5:
      text_ += "threadgroup_barrier(mem_flags::mem_threadgroup);\n";
      return;
    case 6: {
      text_ += "switch (int(lane) & 3) {\ncase 0: ";
      block(depth);
      text_ += pick(2) ? "break;\ncase 2: " : "case 1: ";
      block(depth);
      text_ += "break;\ndefault: break;\n}\n";
      return;
    }
    case 7:
      text_ += "do { if (" + condition(depth) + ") break; } while (false);\n";
      return;
    default:
      text_ += "if (" + condition(depth) + ") return" + (pick(2) ? ";\n" : " (void)0;\n");
    }
  }
  std::string condition(unsigned depth) {
    static const char *const kCompare[] = {" < ", " == ", " >= ", " != "};
    return expression("int", depth) + oneOf(kCompare) + expression("int", depth);
  }

  /// Of type `t`; most are right, a few are not.
  std::string expression(const std::string &t, unsigned depth) {
    if (depth == 0 || text_.size() > 20000)
      return t + "(" + std::to_string(pick(40)) + ")";
    switch (pick(11)) {
    case 0:
    case 1:
      return t + "(" + std::to_string(pick(40)) + ")";
    case 2:
    case 3:
      if (!names_.empty()) {
        const Name &name = names_[pick(unsigned(names_.size()))];
        return name.type == t || pick(16) == 0 ? name.text : t + "(" + component(name, t) + ")";
      }
      return t + "(3)";
    case 4: {
      static const char *const kOperators[] = {" + ", " - ", " * ", " / "};
      return "(" + expression(t, depth - 1) + oneOf(kOperators) + expression(t, depth - 1) + ")";
    }
    case 5: {
      static const char *const kFunctions[] = {"min", "max", "simd_sum", "abs", "clamp", "select", "simd_shuffle_xor"};
      const unsigned which = pick(7);
      std::string call = std::string(kFunctions[which]) + "(" + expression(t, depth - 1);
      if (which < 2 || which == 4 || which == 5)
        call += ", " + expression(t, depth - 1);
      if (which == 4)
        call += ", " + expression(t, depth - 1);
      if (which == 5)
        call += ", bool(" + std::to_string(pick(2)) + ")";
      if (which == 6)
        call += ", " + std::to_string(pick(32));
      return call + ")";
    }
    case 6:
      return "(" + condition(depth - 1) + " ? " + expression(t, depth - 1) + " : " + expression(t, depth - 1) + ")";
    case 7:
      if (!helpers_.empty()) {
        const Name &helper = helpers_[pick(unsigned(helpers_.size()))];
        const std::string call = helper.text + "(" + expression(helper.type, depth - 1) + ", " +
                                 expression(helper.type, depth - 1) + ")";
        return helper.type == t ? call : t + "(" + component({call, helper.type, false}, t) + ")";
      }
      return t + "(7)";
    case 8:
      return "-" + expression(t, depth - 1);
    case 9:
      return t + "(image.read(uint2(lane, 0)).x)";
    default:
      return "({ " + t + " s = " + expression(t, depth - 1) + "; s; })";
    }
  }
  /// Something of a name that converts to `t`: itself for as many components, else the first.
  static std::string component(const Name &name, const std::string &t) {
    auto count = [](const std::string &type) { return type.back() >= '2' && type.back() <= '4' ? type.back() : '1'; };
    return count(name.type) == '1' || count(name.type) == count(t) ? name.text : name.text + ".x";
  }

  const uint8_t *data_;
  size_t size_, at_ = 0;
  unsigned next_ = 0;
  std::string text_;
  std::vector<Name> names_, helpers_;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 4 || size > 2048)
    return 0;
  compiler::SourceRequest request;
  request.mathMode = data[0] & 1 ? compiler::MathMode::Safe : compiler::MathMode::Fast;
  request.source = Grammar(data + 1, size - 1).program();
  const auto image = msl::compileSource(request);
  if (!image) {
    if (image.error().message().empty())
      __builtin_trap();
    return 0;
  }
  const auto library = air::readMetallib(image->metallib);
  if (!library)
    __builtin_trap();
  for (const air::MetallibFunction &function : library->functions) {
    llvm::LLVMContext context;
    auto module = air::ir::parseModule(function.module, context);
    if (!module)
      __builtin_trap();
    auto kernel = air::ir::canonicalize(std::move(*module), function.name, {});
    if (!kernel && kernel.error().message().empty())
      __builtin_trap();
  }
  return 0;
}
