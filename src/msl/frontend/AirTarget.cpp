// SPDX-License-Identifier: Apache-2.0
//
// Tested by: Compile_test.cpp (entry signatures, address spaces, no address-space cast is left).
#include "msl/frontend/AirTarget.h"
#include <clang/Basic/AddressSpaces.h>
#include <clang/Basic/MacroBuilder.h>

namespace pewter::msl {

const char kAirDataLayout[] =
    "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-v16:16:16-"
    "v24:32:32-v32:32:32-v48:64:64-v64:64:64-v96:128:128-v128:128:128-v192:256:256-v256:256:256-"
    "v512:512:512-v1024:1024:1024-n8:16:32";
const char kAirTriple[] = "air64-apple-macosx15.0.0";

namespace {

using namespace clang;

// clang dereferences TargetInfo::TargetOpts, which only TargetInfo::CreateTargetInfo may set. The
// explicit instantiation of a template may name a private member, and its friend can then write it.
void setTargetOptions(clang::TargetInfo &target, clang::TargetOptions *options);
template <clang::TargetOptions *clang::TargetInfo::*kMember> struct TargetOptionsAccess {
  friend void setTargetOptions(clang::TargetInfo &target, clang::TargetOptions *options) {
    target.*kMember = options;
  }
};
template struct TargetOptionsAccess<&clang::TargetInfo::TargetOpts>;

// Language spaces (OpenCL's names) to AIR's numbers; source code only uses the target's own.
const LangASMap kAddressSpaces = {
    0, // default
    1, // opencl_global
    3, // opencl_local
    2, // opencl_constant
    0, // opencl_private
    0, // opencl_generic
    1, // opencl_global_device
    1, // opencl_global_host
};

class AirTarget final : public TargetInfo {
public:
  AirTarget(const llvm::Triple &triple, clang::TargetOptions &options) : TargetInfo(triple) {
    setTargetOptions(*this, &options);
    PointerWidth = PointerAlign = 64;
    LongWidth = LongAlign = 64;
    SizeType = UnsignedLong;
    PtrDiffType = IntPtrType = IntMaxType = Int64Type = SignedLong;
    LongDoubleWidth = LongDoubleAlign = 64;
    LongDoubleFormat = &llvm::APFloat::IEEEdouble();
    BFloat16Width = BFloat16Align = 16;
    BFloat16Format = &llvm::APFloat::BFloat();
    HasFastHalfType = HasFloat16 = HasBFloat16 = HasFullBFloat16 = true;
    HasStrictFP = true; // Else #pragma float_control is ignored without a word.
    TLSSupported = VLASupported = false;
    AddrSpaceMap = &kAddressSpaces;
    UseAddrSpaceMapMangling = true;
    resetDataLayout(kAirDataLayout);
  }

  bool isAddressSpaceSupersetOf(LangAS outer, LangAS inner) const override {
    return outer == inner || outer == LangAS::Default;
  }
  // Where clang puts the hidden globals of local constant tables.
  std::optional<LangAS> getConstantAddressSpace() const override {
    return getLangASFromTargetAS(2);
  }
  void getTargetDefines(const LangOptions &, MacroBuilder &builder) const override {
    builder.defineMacro("__METAL__");
    builder.defineMacro("__AIR64__");
  }
  llvm::SmallVector<Builtin::InfosShard> getTargetBuiltins() const override { return {}; }
  BuiltinVaListKind getBuiltinVaListKind() const override { return CharPtrBuiltinVaList; }
  bool validateAsmConstraint(const char *&, ConstraintInfo &) const override { return false; }
  std::string_view getClobbers() const override { return ""; }
  ArrayRef<const char *> getGCCRegNames() const override { return {}; }
  ArrayRef<GCCRegAlias> getGCCRegAliases() const override { return {}; }
};

} // namespace

clang::TargetInfo *makeAirTarget(clang::TargetOptions &options) {
  const llvm::Triple triple("air64-unknown-unknown");
  options.Triple = triple.str();
  return new AirTarget(triple, options);
}

} // namespace pewter::msl
