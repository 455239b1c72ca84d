// SPDX-License-Identifier: Apache-2.0
// The whole back-end on small kernels: what must stand in the PTX. With ptxas on the machine the PTX
// is assembled too.
#include "cuda/codegen/Pipeline.h"
#include "air/ir/TestModules.h"
#include <cstdlib>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace pewter::cuda::codegen {
namespace {

using testing::HasSubstr;
using testing::Not;

/// A kernel over (device const float *src, device float *dst, threadgroup float *tg, uint gid, ushort
/// lane) whose body is given.
std::string kernelText(const std::string &body, const std::string &declarations) {
  return "define void @k(ptr addrspace(1) %src, ptr addrspace(1) %dst, ptr addrspace(3) %tg, i32 %gid, "
         "i16 %lane) {\n" + body + "\n}\n" + declarations + R"(
!air.kernel = !{!0}
!0 = !{ptr @k, !1, !2}
!1 = !{}
!2 = !{!3, !4, !5, !6, !7}
!3 = !{i32 0, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read", !"air.address_space", i32 1, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"float", !"air.arg_name", !"src"}
!4 = !{i32 1, !"air.buffer", !"air.location_index", i32 1, i32 1, !"air.read_write", !"air.address_space", i32 1, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"float", !"air.arg_name", !"dst"}
!5 = !{i32 2, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read_write", !"air.address_space", i32 3, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"float", !"air.arg_name", !"tg"}
!6 = !{i32 3, !"air.thread_position_in_grid", !"air.arg_type_name", !"uint", !"air.arg_name", !"gid"}
!7 = !{i32 4, !"air.thread_index_in_simdgroup", !"air.arg_type_name", !"ushort", !"air.arg_name", !"lane"}
)";
}

const std::string kLoad = R"(
  %i = zext i32 %gid to i64
  %sp = getelementptr inbounds float, ptr addrspace(1) %src, i64 %i
  %dp = getelementptr inbounds float, ptr addrspace(1) %dst, i64 %i
  %v = load float, ptr addrspace(1) %sp, align 4
)";

Result<KernelImage> compile(const std::string &body, const std::string &declarations,
                            uint32_t architecture = 90) {
  llvm::LLVMContext context;
  auto module = air::ir::testing::parseAir(context, kernelText(body, declarations));
  if (!module)
    return fail(ErrorKind::Internal, "The test's IR does not parse.");
  PEWTER_TRY(air::ir::CanonicalKernel kernel, air::ir::canonicalize(std::move(module), "k", {}));
  return compileToPtx(std::move(kernel), {.architecture = architecture});
}

/// True when ptxas accepts the text, or is not on this machine.
bool assembles(const KernelImage &image) {
  if (std::system("command -v ptxas >/dev/null 2>&1") != 0)
    return true;
  auto path = std::filesystem::temp_directory_path() / fmt::format("pewter-{}.ptx", getpid());
  EXPECT_TRUE(writeFileAtomically(path, viewOf(image.ptx)).has_value());
  std::string command =
      fmt::format("ptxas -arch=sm_{} {} -o /dev/null", image.architecture, path.string());
  bool good = std::system(command.c_str()) == 0;
  std::filesystem::remove(path);
  return good;
}

TEST(CudaPipeline, ElementwiseKernel) {
  auto image = compile(kLoad + R"(
  %m = fmul float %v, 3.0
  %s = fadd float %m, 1.0
  store float %s, ptr addrspace(1) %dp, align 4
  ret void)", "");
  ASSERT_TRUE(image.has_value()) << image.error().describe();
  EXPECT_THAT(image->ptx, HasSubstr(".entry pewter_k("));
  // No permission to fuse was given, so neither LLVM nor ptxas may.
  EXPECT_THAT(image->ptx, Not(HasSubstr("fma.rn")));
  EXPECT_THAT(image->ptx, HasSubstr("mul.rn.f32"));
  EXPECT_THAT(image->ptx, HasSubstr("add.rn.f32"));
  EXPECT_TRUE(assembles(*image)) << image->ptx;
}

TEST(CudaPipeline, ContractAllowsFusing) {
  auto image = compile(kLoad + R"(
  %m = fmul contract float %v, 3.0
  %s = fadd contract float %m, 1.0
  store float %s, ptr addrspace(1) %dp, align 4
  ret void)", "");
  ASSERT_TRUE(image.has_value()) << image.error().describe();
  EXPECT_THAT(image->ptx, HasSubstr("fma.rn.f32"));
}

TEST(CudaPipeline, SimdgroupOperationsAndBarriers) {
  std::string declarations;
  std::string body = kLoad + "%acc0 = fadd float %v, 0.0\n";
  int n = 0;
  for (std::string name : {"simd_sum.f32", "simd_product.f32", "simd_max.f32", "simd_min.f32",
                           "simd_prefix_inclusive_sum.f32", "simd_prefix_exclusive_sum.f32",
                           "simd_broadcast_first.f32", "quad_sum.f32"}) {
    declarations += "declare float @air." + name + "(float) #0\n";
    body += fmt::format("%acc{} = call float @air.{}(float %acc{})\n", n + 1, name, n);
    ++n;
  }
  for (std::string name : {"simd_broadcast.f32", "simd_shuffle.f32", "simd_shuffle_xor.f32",
                           "simd_shuffle_up.f32", "simd_shuffle_down.f32",
                           "simd_shuffle_rotate_up.f32", "simd_shuffle_rotate_down.f32"}) {
    declarations += "declare float @air." + name + "(float, i16) #0\n";
    body += fmt::format("%acc{} = call float @air.{}(float %acc{}, i16 %lane)\n", n + 1, name, n);
    ++n;
  }
  declarations += "declare float @air.simd_shuffle_and_fill_up.f32(float, float, i16, i16) #0\n"
                  "declare i64 @air.simd_ballot.i64(i1) #0\ndeclare i1 @air.simd_any(i1) #0\n"
                  "declare void @air.wg.barrier(i32, i32) #0\n"
                  "declare void @air.simdgroup.barrier(i32, i32) #0\n"
                  "attributes #0 = { convergent nounwind willreturn }\n";
  body += fmt::format(R"(
  %f = call float @air.simd_shuffle_and_fill_up.f32(float %acc{}, float %v, i16 3, i16 8)
  %c = fcmp ogt float %f, 1.0
  %b = call i64 @air.simd_ballot.i64(i1 %c)
  %any = call i1 @air.simd_any(i1 %c)
  %t = getelementptr inbounds float, ptr addrspace(3) %tg, i64 %i
  store float %f, ptr addrspace(3) %t, align 4
  call void @air.wg.barrier(i32 2, i32 1)
  %x = load float, ptr addrspace(3) %tg, align 4
  call void @air.simdgroup.barrier(i32 2, i32 4)
  %bf = uitofp i64 %b to float
  %y = fadd float %x, %bf
  %z = select i1 %any, float %y, float %x
  store float %z, ptr addrspace(1) %dp, align 4
  ret void)", n);
  for (uint32_t architecture : {80u, 90u, 100u}) {
    auto image = compile(body, declarations, architecture);
    ASSERT_TRUE(image.has_value()) << image.error().describe();
    EXPECT_THAT(image->ptx, HasSubstr("shfl.sync"));
    EXPECT_THAT(image->ptx, HasSubstr("barrier"));
    EXPECT_THAT(image->ptx, HasSubstr("pewter_threadgroup"));
    EXPECT_TRUE(assembles(*image)) << image->ptx;
  }
}

TEST(CudaPipeline, MatricesBecomeFragments) {
  auto image = compile(R"(
  %a = call <64 x float> @air.simdgroup_matrix_8x8_load.v64f32.p1f32(ptr addrspace(1) %src, i64 8, <2 x i64> zeroinitializer, i1 false)
  %z = call <64 x float> @air.simdgroup_matrix_8x8_init_filled.v64f32.f32(float 0.0)
  br label %loop
loop:
  %j = phi i32 [ 0, %0 ], [ %j1, %loop ]
  %c = phi <64 x float> [ %z, %0 ], [ %d, %loop ]
  %b = call <64 x float> @air.simdgroup_matrix_8x8_load.v64f32.p1f32(ptr addrspace(1) %src, i64 8, <2 x i64> zeroinitializer, i1 true)
  %d = call <64 x float> @air.simdgroup_matrix_8x8_multiply_accumulate.v64f32.v64f32.v64f32.v64f32(<64 x float> %a, <64 x float> %b, <64 x float> %c)
  %j1 = add i32 %j, 1
  %more = icmp ult i32 %j1, %gid
  br i1 %more, label %loop, label %done
done:
  call void @air.simdgroup_matrix_8x8_store.v64f32.p1f32(<64 x float> %d, ptr addrspace(1) %dst, i64 8, <2 x i64> zeroinitializer, i1 false)
  ret void)", R"(
declare <64 x float> @air.simdgroup_matrix_8x8_load.v64f32.p1f32(ptr addrspace(1), i64, <2 x i64>, i1) #0
declare <64 x float> @air.simdgroup_matrix_8x8_init_filled.v64f32.f32(float) #0
declare <64 x float> @air.simdgroup_matrix_8x8_multiply_accumulate.v64f32.v64f32.v64f32.v64f32(<64 x float>, <64 x float>, <64 x float>) #0
declare void @air.simdgroup_matrix_8x8_store.v64f32.p1f32(<64 x float>, ptr addrspace(1), i64, <2 x i64>, i1) #0
attributes #0 = { convergent nounwind willreturn })");
  ASSERT_TRUE(image.has_value()) << image.error().describe();
  EXPECT_THAT(image->ptx, HasSubstr("fma.rn.f32"));
  EXPECT_TRUE(assembles(*image)) << image->ptx;
}

// A float4 may lie at any multiple of 4 bytes in Metal.
TEST(CudaPipeline, WideAccessesAreGuardedUnlessTheyAreKnownToBeAligned) {
  std::string body = R"(
  %i = zext i32 %gid to i64
  %sp = getelementptr inbounds float, ptr addrspace(1) %src, i64 %i
  %v = load <4 x float>, ptr addrspace(1) %sp, align 16
  store <4 x float> %v, ptr addrspace(1) %dst, align 16
  ret void)";
  auto image = compile(body, "");
  ASSERT_TRUE(image.has_value()) << image.error().describe();
  EXPECT_THAT(image->ptx, HasSubstr("ld.global.v4"));
  EXPECT_THAT(image->ptx, HasSubstr("ld.global.b32"));
  EXPECT_THAT(image->ptx, HasSubstr("st.global.b32"));
  EXPECT_TRUE(assembles(*image)) << image->ptx;
  std::string known = R"(
  %a = ptrtoint ptr addrspace(1) %src to i64
  %m = and i64 %a, -16
  %p = inttoptr i64 %m to ptr addrspace(1)
  %v = load <4 x float>, ptr addrspace(1) %p, align 16
  %s = extractelement <4 x float> %v, i32 3
  store float %s, ptr addrspace(1) %dst, align 4
  ret void)";
  auto aligned = compile(known, "");
  ASSERT_TRUE(aligned.has_value()) << aligned.error().describe();
  EXPECT_THAT(aligned->ptx, Not(HasSubstr("setp")));
}

// Strict code writes a * b + c as fmuladd, which is two roundings on every device.
TEST(CudaPipeline, MultiplyAddWithoutPermissionIsTwoOperations) {
  auto image = compile(kLoad + R"(
  %s = call float @llvm.fmuladd.f32(float %v, float 3.0, float %v)
  store float %s, ptr addrspace(1) %dp, align 4
  ret void)", "declare float @llvm.fmuladd.f32(float, float, float)\n");
  ASSERT_TRUE(image.has_value()) << image.error().describe();
  EXPECT_THAT(image->ptx, Not(HasSubstr("fma.rn")));
}

// Thirty-two lanes looked at one by one: with a predicate for each, ptxas gives up.
TEST(CudaPipeline, ReductionsOverSomeLanesAssemble) {
  std::string body = kLoad, declarations = "attributes #0 = { convergent nounwind willreturn }\n";
  std::string value = "%v";
  for (std::string name : {"simd_sum.f32", "simd_min.f32", "simd_prefix_inclusive_sum.f32"}) {
    declarations += "declare float @air." + name + "(float) #0\n";
    body += fmt::format("%x.{0} = call float @air.{0}(float {1}) #0\n", name, value);
    value = "%x." + name;
  }
  body += fmt::format("%q = fadd float {}, %v\nstore float %q, ptr addrspace(1) %dp, align 4\nret void", value);
  auto image = compile(body, declarations);
  ASSERT_TRUE(image.has_value()) << image.error().describe();
  EXPECT_THAT(image->ptx, HasSubstr("bfe.s32"));
  EXPECT_TRUE(assembles(*image)) << image->ptx;
}

size_t countOf(const std::string &text, const std::string &part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

const std::string kSum = "declare float @air.simd_sum.f32(float) #0\nattributes #0 = { convergent nounwind willreturn }\n";

// What the hardware happens to run together says nothing: masks are computed, and only where they must be.
TEST(CudaPipeline, LanesThatComeTogetherNeedNoVote) {
  auto image = compile(kLoad + R"(
  br label %loop
loop: ; lanes leave it in different turns, but all of them add behind it
  %n = phi i32 [ 0, %0 ], [ %next, %loop ]
  %a = phi float [ %v, %0 ], [ %b, %loop ]
  %b = fmul float %a, %v
  %next = add i32 %n, 3
  %more = icmp ult i32 %next, %gid
  br i1 %more, label %loop, label %end
end:
  %s = call float @air.simd_sum.f32(float %b) #0
  store float %s, ptr addrspace(1) %dp, align 4
  ret void)", kSum);
  ASSERT_TRUE(image.has_value()) << image.error().describe();
  EXPECT_EQ(countOf(image->ptx, "vote.sync"), 0u) << image->ptx;
  EXPECT_THAT(image->ptx, Not(HasSubstr("activemask")));
  EXPECT_TRUE(assembles(*image)) << image->ptx;
}

TEST(CudaPipeline, LanesOfABranchAreVotedFor) {
  auto image = compile(kLoad + R"(
  %odd = trunc i16 %lane to i1
  br i1 %odd, label %a, label %join
a:
  %s = call float @air.simd_sum.f32(float %v) #0
  br label %join
join:
  %r = phi float [ %s, %a ], [ %v, %0 ]
  store float %r, ptr addrspace(1) %dp, align 4
  ret void)", kSum);
  ASSERT_TRUE(image.has_value()) << image.error().describe();
  EXPECT_EQ(countOf(image->ptx, "vote.sync.ballot"), 1u) << image->ptx;
  EXPECT_THAT(image->ptx, Not(HasSubstr("activemask")));
  EXPECT_TRUE(assembles(*image)) << image->ptx;
}

// In a loop the lanes of a turn are those that have not left it.
TEST(CudaPipeline, LanesOfALoopAreVotedForInEachTurn) {
  auto image = compile(kLoad + R"(
  br label %loop
loop:
  %n = phi i32 [ 0, %0 ], [ %next, %loop ]
  %a = phi float [ %v, %0 ], [ %s, %loop ]
  %s = call float @air.simd_sum.f32(float %a) #0
  %next = add i32 %n, 3
  %more = icmp ult i32 %next, %gid
  br i1 %more, label %loop, label %end
end:
  store float %s, ptr addrspace(1) %dp, align 4
  ret void)", kSum);
  ASSERT_TRUE(image.has_value()) << image.error().describe();
  EXPECT_EQ(countOf(image->ptx, "vote.sync.ballot"), 1u) << image->ptx;
  EXPECT_TRUE(assembles(*image)) << image->ptx;
}

TEST(CudaPipeline, FourProductsOfBytesAreOneInstruction) {
  auto image = compile(R"(
  %a = load <4 x i8>, ptr addrspace(1) %src, align 4
  %b = bitcast i32 %gid to <4 x i8>
  %wa = sext <4 x i8> %a to <4 x i32>
  %wb = zext <4 x i8> %b to <4 x i32>
  %p = mul <4 x i32> %wa, %wb
  %p0 = extractelement <4 x i32> %p, i32 0
  %p1 = extractelement <4 x i32> %p, i32 1
  %p2 = extractelement <4 x i32> %p, i32 2
  %p3 = extractelement <4 x i32> %p, i32 3
  %s01 = add i32 %p0, %p1
  %s23 = add i32 %p2, %p3
  %s = add i32 %s01, %s23
  %r = add i32 %s, %gid
  store i32 %r, ptr addrspace(1) %dst, align 4
  ret void)", "");
  ASSERT_TRUE(image.has_value()) << image.error().describe();
  EXPECT_EQ(countOf(image->ptx, "dp4a.s32.u32") + countOf(image->ptx, "dp4a.u32.s32"), 1u) << image->ptx;
  EXPECT_TRUE(assembles(*image)) << image->ptx;
}

const std::string kHalfMatrices = R"(
declare <64 x half> @air.simdgroup_matrix_8x8_load.v64f16.p1f16(ptr addrspace(1), i64, <2 x i64>, i1) #0
declare <64 x float> @air.simdgroup_matrix_8x8_init_filled.v64f32.f32(float) #0
declare <64 x float> @air.simdgroup_matrix_8x8_multiply_accumulate.v64f32.v64f16.v64f16.v64f32(<64 x half>, <64 x half>, <64 x float>) #0
declare void @air.simdgroup_matrix_8x8_store.v64f32.p1f32(<64 x float>, ptr addrspace(1), i64, <2 x i64>, i1) #0
attributes #0 = { convergent nounwind willreturn })";

/// Two rows of matrices times two behind each other; `flags` are those of the products.
std::string fourProducts(const std::string &flags) {
  std::string body = "%z = call <64 x float> @air.simdgroup_matrix_8x8_init_filled.v64f32.f32(float 0.0)\n";
  for (std::string name : {"a0", "a1", "c0", "c1", "b0", "b1"})
    body += fmt::format("%p{0} = getelementptr half, ptr addrspace(1) %src, i64 {1}\n%{0} = call <64 x half> "
                        "@air.simdgroup_matrix_8x8_load.v64f16.p1f16(ptr addrspace(1) %p{0}, i64 64, <2 x i64> "
                        "zeroinitializer, i1 {2})\n",
                        name, (name[0] - 'a') * 512 + (name[1] - '0') * 8, name[0] == 'b' ? "true" : "false");
  auto product = [&](const char *result, const char *a, const char *b, const char *sum) {
    body += fmt::format("%{} = call {} <64 x float> @air.simdgroup_matrix_8x8_multiply_accumulate.v64f32.v64f16.v64f16"
                        ".v64f32(<64 x half> %{}, <64 x half> %{}, <64 x float> %{})\n", result, flags, a, b, sum);
  };
  product("u0", "a0", "b0", "z");
  product("u1", "a1", "b1", "u0");
  product("l0", "c0", "b0", "z");
  product("l1", "c1", "b1", "l0");
  for (const char *name : {"u1", "l1"})
    body += fmt::format("%at.{0} = getelementptr float, ptr addrspace(1) %dst, i64 {1}\ncall void "
                        "@air.simdgroup_matrix_8x8_store.v64f32.p1f32(<64 x float> %{0}, ptr addrspace(1) %at.{0}, i64 8, "
                        "<2 x i64> zeroinitializer, i1 false)\n", name, name[0] == 'u' ? 0 : 64);
  return body + "ret void";
}

TEST(CudaPipeline, FastProductsOfHalvesAreTakenByTheMatrixUnits) {
  for (uint32_t architecture : {80u, 90u, 100u}) {
    auto image = compile(fourProducts("reassoc contract"), kHalfMatrices, architecture);
    ASSERT_TRUE(image.has_value()) << image.error().describe();
    EXPECT_EQ(countOf(image->ptx, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"), 1u) << image->ptx;
    EXPECT_THAT(image->ptx, Not(HasSubstr("m16n8k8")));
    EXPECT_THAT(image->ptx, Not(HasSubstr("shfl.sync")));
    EXPECT_TRUE(assembles(*image)) << image->ptx;
  }
}

TEST(CudaPipeline, StrictProductsOfHalvesAreNot) {
  auto image = compile(fourProducts(""), kHalfMatrices);
  ASSERT_TRUE(image.has_value()) << image.error().describe();
  EXPECT_THAT(image->ptx, Not(HasSubstr("mma.sync")));
  EXPECT_THAT(image->ptx, HasSubstr("fma.rn.f32"));
}

TEST(CudaPipeline, IntegersOfAllLanesAreReducedByOneInstruction) {
  auto image = compile(R"(
  %sum = call i32 @air.simd_sum.s.i32(i32 %gid)
  %max = call i32 @air.simd_max.u.i32(i32 %sum)
  store i32 %max, ptr addrspace(1) %dst, align 4
  ret void)", "declare i32 @air.simd_sum.s.i32(i32) #0\ndeclare i32 @air.simd_max.u.i32(i32) #0\n"
              "attributes #0 = { convergent nounwind willreturn }\n");
  ASSERT_TRUE(image.has_value()) << image.error().describe();
  EXPECT_THAT(image->ptx, HasSubstr("redux.sync.add.s32"));
  EXPECT_THAT(image->ptx, HasSubstr("redux.sync.max.u32"));
  EXPECT_TRUE(assembles(*image)) << image->ptx;
}

// A kernel waits for the one before it in front of whatever that may have written.
TEST(CudaPipeline, KernelsWaitBeforeTheyLookAtMemory) {
  const std::string store = "store float %v, ptr addrspace(1) %dp, align 4\nret void";
  auto plain = compile(kLoad + store, "");
  ASSERT_TRUE(plain.has_value()) << plain.error().describe();
  const size_t wait = plain->ptx.find("griddepcontrol.wait");
  ASSERT_NE(wait, std::string::npos);
  EXPECT_LT(wait, plain->ptx.find("ld.global"));
  EXPECT_EQ(compile(kLoad + store, "", 80)->ptx.find("griddepcontrol"), std::string::npos);

  auto asking = compile(R"(
  %ask = icmp ult i32 %gid, 7
  br i1 %ask, label %first, label %rest
first:
  call void @llvm.prefetch.p1(ptr addrspace(1) %src, i32 0, i32 3, i32 1)
  br label %rest
rest:
)" + kLoad + store, "declare void @llvm.prefetch.p1(ptr addrspace(1), i32, i32, i32)");
  ASSERT_TRUE(asking.has_value()) << asking.error().describe();
  const size_t asked = asking->ptx.find("prefetch.global.L2"), waits = asking->ptx.find("griddepcontrol.wait");
  ASSERT_NE(asked, std::string::npos);
  EXPECT_LT(asked, waits);
  EXPECT_LT(waits, asking->ptx.find("ld.global"));
  EXPECT_TRUE(assembles(*asking)) << asking->ptx;

  // All threads wait, also those that read nothing.
  auto some = compile(R"(
  call void @llvm.prefetch.p1(ptr addrspace(1) %src, i32 0, i32 3, i32 1)
  %is = icmp ult i32 %gid, 7
  br i1 %is, label %work, label %done
work:
)" + kLoad + R"(
  store float %v, ptr addrspace(1) %dp, align 4
  br label %done
done:
  ret void)", "declare void @llvm.prefetch.p1(ptr addrspace(1), i32, i32, i32)");
  ASSERT_TRUE(some.has_value()) << some.error().describe();
  EXPECT_LT(some->ptx.find("griddepcontrol.wait"), some->ptx.find("bra"));
}

TEST(CudaPipeline, UnknownCallIsNamed) {
  auto image = compile(kLoad + R"(
  %x = call float @air.simd_bogus.f32(float %v)
  store float %x, ptr addrspace(1) %dp, align 4
  ret void)", "declare float @air.simd_bogus.f32(float) convergent\n");
  ASSERT_FALSE(image.has_value());
  EXPECT_THAT(image.error().message(), HasSubstr("air.simd_bogus.f32"));
}

TEST(CudaPipeline, UnknownArchitectureIsNamed) {
  auto image = compile("ret void", "", 75);
  ASSERT_FALSE(image.has_value());
  EXPECT_THAT(image.error().message(), HasSubstr("sm_75"));
}

TEST(CudaKernelImage, RoundTripsAndRefusesDamage) {
  KernelImage image;
  image.architecture = 90;
  image.entry = "pewter_k";
  image.reflection.name = "k";
  image.ptx = "// ptx";
  Bytes bytes = encode(image);
  auto back = parseKernelImage(bytes);
  ASSERT_TRUE(back.has_value()) << back.error().describe();
  EXPECT_EQ(back->ptx, image.ptx);
  EXPECT_EQ(back->entry, image.entry);
  for (size_t i = 0; i < bytes.size(); ++i) {
    Bytes damaged = bytes;
    damaged[i] ^= std::byte(1);
    EXPECT_FALSE(parseKernelImage(damaged).has_value()) << i;
    EXPECT_FALSE(parseKernelImage(ByteView(bytes).first(i)).has_value()) << i;
  }
}

} // namespace
} // namespace pewter::cuda::codegen
