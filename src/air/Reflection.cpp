// SPDX-License-Identifier: Apache-2.0
// The binary form: "PWRF", a version, then the fields in order of declaration; enumerations are
// bytes and are checked against their last member. Tested by Reflection_test.cpp.
#include "air/Reflection.h"
#include "air/ByteStream.h"
#include <algorithm>

namespace pewter::air {

namespace {

constexpr uint32_t kMagic = 0x46525750; // "PWRF"
constexpr uint32_t kVersion = 2;
/// The least room that one element takes, to refuse a hostile count before memory is asked for.
constexpr uint32_t kLeastArgument = 40, kLeastMember = 32, kLeastConstant = 11;

void put(ByteWriter &out, const StructMember &member) {
  out.putString(member.name);
  out.putString(member.typeName);
  out.put(member.offset);
  out.put(member.size);
  out.put(member.arrayLength);
  out.put(member.argumentIndex);
  out.put(member.pointeeSize);
  out.put(static_cast<uint32_t>(member.members.size()));
  for (const StructMember &inner : member.members)
    put(out, inner);
}

void put(ByteWriter &out, const Argument &argument) {
  out.put(argument.kind);
  out.put(argument.parameter);
  out.put(argument.slot);
  out.put(argument.arrayLength);
  out.put(argument.addressSpace);
  out.put(argument.access);
  out.put(argument.builtin);
  out.put(argument.dataSize);
  out.put(argument.dataAlignment);
  out.put(argument.boundSize);
  out.put<uint8_t>(argument.used);
  out.put<uint8_t>(argument.isArgumentBuffer);
  out.putString(argument.name);
  out.putString(argument.typeName);
  out.putString(argument.metadataKind);
  out.put(static_cast<uint32_t>(argument.members.size()));
  for (const StructMember &member : argument.members)
    put(out, member);
}

class Decoder {
public:
  explicit Decoder(ByteView bytes) : in_(bytes) {}

  Result<KernelReflection> run() {
    if (in_.get<uint32_t>() != kMagic || in_.failed())
      return fail(ErrorKind::Validation, "The reflection record does not begin with \"PWRF\".");
    if (const auto version = in_.get<uint32_t>(); version != kVersion)
      return fail(ErrorKind::Validation, "The reflection record has version [{}]; {} is expected.",
                  version, kVersion);
    KernelReflection reflection;
    reflection.name = in_.getString();
    const uint32_t arguments = count("arguments", kLeastArgument);
    for (uint32_t i = 0; i < arguments && !bad(); ++i)
      reflection.arguments.push_back(argument());
    const uint32_t constants = count("constants", kLeastConstant);
    for (uint32_t i = 0; i < constants && !bad(); ++i) {
      FunctionConstant constant;
      constant.name = in_.getString();
      constant.type = static_cast<DataType>(in_.get<uint16_t>());
      constant.index = in_.get<uint32_t>();
      constant.required = flag("required");
      reflection.constants.push_back(std::move(constant));
    }
    reflection.maxTotalThreadsPerThreadgroup = in_.get<uint32_t>();
    reflection.staticThreadgroupBytes = in_.get<uint32_t>();
    reflection.usesThreadgroupBarrier = flag("usesThreadgroupBarrier");
    reflection.usesSimdgroupOperations = flag("usesSimdgroupOperations");
    if (!problem_.empty())
      return fail(ErrorKind::Validation, "The reflection record of \"{}\" {}.", reflection.name,
                  problem_);
    if (in_.failed())
      return fail(ErrorKind::Validation, "The reflection record of \"{}\" ends too early.",
                  reflection.name);
    if (in_.left() != 0)
      return fail(ErrorKind::Validation, "The reflection record of \"{}\" has [{}] bytes too many.",
                  reflection.name, in_.left());
    return reflection;
  }

private:
  bool bad() const { return in_.failed() || !problem_.empty(); }

  uint32_t count(std::string_view what, uint32_t least) {
    const auto value = in_.get<uint32_t>();
    if (!bad() && value > in_.left() / least) {
      problem_ = fmt::format("claims [{}] {}, more than its size allows", value, what);
      return 0;
    }
    return value;
  }
  template <class T> T enumeration(std::string_view what, T last) {
    const T value = in_.get<T>();
    if (!bad() && value > last)
      problem_ = fmt::format("has the unknown {} [{}]", what, static_cast<unsigned>(value));
    return bad() ? T{} : value;
  }
  bool flag(std::string_view what) {
    const auto value = in_.get<uint8_t>();
    if (!bad() && value > 1)
      problem_ = fmt::format("has [{}] where {} is 0 or 1", value, what);
    return value == 1;
  }

  Argument argument() {
    Argument argument;
    argument.kind = enumeration("argument kind", ArgumentKind::Unsupported);
    argument.parameter = in_.get<uint32_t>();
    argument.slot = in_.get<uint32_t>();
    argument.arrayLength = in_.get<uint32_t>();
    argument.addressSpace = enumeration("address space", AddressSpace::Threadgroup);
    argument.access = enumeration("access", Access::Sample);
    argument.builtin = enumeration("built-in", Builtin::GridSize);
    argument.dataSize = in_.get<uint32_t>();
    argument.dataAlignment = in_.get<uint32_t>();
    argument.boundSize = in_.get<uint32_t>();
    argument.used = flag("used");
    argument.isArgumentBuffer = flag("isArgumentBuffer");
    argument.name = in_.getString();
    argument.typeName = in_.getString();
    argument.metadataKind = in_.getString();
    const uint32_t members = count("members", kLeastMember);
    for (uint32_t i = 0; i < members && !bad(); ++i)
      argument.members.push_back(member(0));
    return argument;
  }

  StructMember member(unsigned depth) {
    StructMember member;
    member.name = in_.getString();
    member.typeName = in_.getString();
    member.offset = in_.get<uint32_t>();
    member.size = in_.get<uint32_t>();
    member.arrayLength = in_.get<uint32_t>();
    member.argumentIndex = in_.get<uint32_t>();
    member.pointeeSize = in_.get<uint32_t>();
    const uint32_t inner = count("members", kLeastMember);
    if (inner && depth == kDeepestMember) {
      problem_ = fmt::format("nests members deeper than [{}]", kDeepestMember);
      return member;
    }
    for (uint32_t i = 0; i < inner && !bad(); ++i)
      member.members.push_back(this->member(depth + 1));
    return member;
  }

  ByteReader in_;
  std::string problem_;
};

} // namespace

uint32_t idsOf(const std::vector<StructMember> &members) {
  uint32_t ids = 0;
  for (const StructMember &member : members) {
    const bool isNested = member.pointeeSize == 0 && !member.members.empty();
    const uint32_t each = isNested ? idsOf(member.members) : 1;
    ids = std::max(ids, member.argumentIndex + each * std::max(1u, member.arrayLength));
  }
  return ids;
}

Bytes encode(const KernelReflection &reflection) {
  ByteWriter out;
  out.put(kMagic);
  out.put(kVersion);
  out.putString(reflection.name);
  out.put(static_cast<uint32_t>(reflection.arguments.size()));
  for (const Argument &argument : reflection.arguments)
    put(out, argument);
  out.put(static_cast<uint32_t>(reflection.constants.size()));
  for (const FunctionConstant &constant : reflection.constants) {
    out.putString(constant.name);
    out.put(static_cast<uint16_t>(constant.type));
    out.put(constant.index);
    out.put<uint8_t>(constant.required);
  }
  out.put(reflection.maxTotalThreadsPerThreadgroup);
  out.put(reflection.staticThreadgroupBytes);
  out.put<uint8_t>(reflection.usesThreadgroupBarrier);
  out.put<uint8_t>(reflection.usesSimdgroupOperations);
  return out.take();
}

Result<KernelReflection> decodeReflection(ByteView bytes) { return Decoder(bytes).run(); }

} // namespace pewter::air
