// SPDX-License-Identifier: Apache-2.0
//
// Tested by CpuPipeline_test.cpp.
#include "cpu/CpuPipeline.h"
#include "cpu/TargetChoice.h"
#include "cpu/abi/KernelImage.h"
#include "device/PipelineImage.h"
#include <algorithm>

namespace pewter::cpu {
using compiler::ThreadgroupShape;
using device::Size3;
namespace {

ThreadgroupShape exactShape(const Size3 &size) {
  return {ThreadgroupShape::Kind::Exact,
          {uint32_t(size.x), uint32_t(size.y), uint32_t(size.z)}};
}

Result<void> checkImage(const KernelImage &image, const std::string &function,
                        compiler::TargetKind target, const ThreadgroupShape &shape) {
  if (image.target != uint32_t(target))
    return fail(ErrorKind::Validation, "The kernel image is for target [{}]; expected {}.",
                nameOf(compiler::TargetKind(image.target)), nameOf(target));
  if (image.reflection.name != function)
    return fail(ErrorKind::Validation, "The kernel image holds function \"{}\"; expected \"{}\".",
                image.reflection.name, function);
  bool sameShape = image.shapeKind == uint32_t(shape.kind);
  if (shape.kind == ThreadgroupShape::Kind::Exact)
    sameShape = sameShape && std::equal(shape.size.begin(), shape.size.end(), image.shapeSize);
  if (!sameShape)
    return fail(ErrorKind::Validation,
                "The kernel image of function \"{}\" is for another threadgroup shape.", function);
  return {};
}

} // namespace

CpuPipeline::CpuPipeline(const device::PipelineRequest &request, compiler::TargetKind target)
    : request_(request), target_(target) {}

CpuPipeline::CpuPipeline(air::KernelReflection reflection,
                         std::vector<std::unique_ptr<KernelVariant>> variants)
    : target_(compiler::TargetKind::CpuBaseline), fixed_(true) {
  maxTotalThreads_ = reflection.maxTotalThreadsPerThreadgroup;
  reflection_ = std::move(reflection);
  for (auto &variant : variants)
    publish(std::move(variant));
}

CpuPipeline::~CpuPipeline() {
  for (KernelVariant *variant = first_.load(); variant;) {
    KernelVariant *next = variant->next;
    delete variant;
    variant = next;
  }
}

Result<std::shared_ptr<CpuPipeline>> CpuPipeline::create(const device::PipelineRequest &request,
                                                         compiler::TargetKind target) {
  std::shared_ptr<CpuPipeline> pipeline(new CpuPipeline(request, target));
  PEWTER_TRY_VOID(pipeline->addVariant({}));
  pipeline->maxTotalThreads_ = pipeline->reflection_.maxTotalThreadsPerThreadgroup;
  if (uint32_t wish = request.maxTotalThreadsPerThreadgroup)
    pipeline->maxTotalThreads_ = std::min(pipeline->maxTotalThreads_, wish);
  return pipeline;
}

void CpuPipeline::publish(std::unique_ptr<KernelVariant> variant) {
  variant->next = first_.load(std::memory_order_relaxed);
  first_.store(variant.release(), std::memory_order_release);
}

const KernelVariant *CpuPipeline::find(ThreadgroupShape::Kind kind) const {
  for (const KernelVariant *v = first_.load(std::memory_order_acquire); v; v = v->next)
    if (v->shape.kind == kind)
      return v;
  return nullptr;
}

const KernelVariant *CpuPipeline::variantFor(const Size3 &size) const {
  const KernelVariant *any = nullptr, *rows = nullptr;
  for (const KernelVariant *v = first_.load(std::memory_order_acquire); v; v = v->next) {
    if (v->shape.kind == ThreadgroupShape::Kind::Any)
      any = v;
    else if (v->shape.kind == ThreadgroupShape::Kind::RowMultiple)
      rows = v;
    else if ((v->rangeEntry || v->simdgroupEntry) && v->isExactlyFor(size))
      return v;
  }
  return size.x % air::kSimdWidth == 0 && rows ? rows : any;
}

const KernelVariant *CpuPipeline::edgeVariantFor(const Size3 &size, uint64_t lastWidth) const {
  if (size.x % air::kSimdWidth == 0 && lastWidth % air::kSimdWidth == 0)
    if (const KernelVariant *rows = find(ThreadgroupShape::Kind::RowMultiple))
      return rows;
  return find(ThreadgroupShape::Kind::Any);
}

/// Makes the image for a shape, and what is needed to call it. The caller holds compileMutex_, or is
/// alone.
Result<void> CpuPipeline::addVariant(const ThreadgroupShape &shape) {
  std::optional<KernelImage> image;
  auto check = [&](ByteView bytes) -> Result<void> {
    PEWTER_TRY(KernelImage parsed, parseKernelImage(bytes));
    PEWTER_TRY_VOID(checkImage(parsed, request_.function, target_, shape));
    image = std::move(parsed);
    return {};
  };
  PEWTER_TRY_VOID(device::obtainImage({request_, target_, shape, 0, kAbiVersion}, check));
  auto variant = std::make_unique<KernelVariant>();
  PEWTER_TRY(variant->code, CodeMemory::load(image->code));
  variant->name = request_.function;
  variant->shape = shape;
  if (image->rangeEntry != KernelImage::kNoEntry)
    variant->rangeEntry = variant->code.at<RangeEntry>(image->rangeEntry);
  if (image->simdgroupEntry != KernelImage::kNoEntry)
    variant->simdgroupEntry = variant->code.at<SimdgroupEntry>(image->simdgroupEntry);
  variant->lanesPerCall = image->lanesPerCall;
  variant->stackBytes = image->stackBytes;
  variant->staticThreadgroupBytes = image->reflection.staticThreadgroupBytes;
  variant->usesThreadgroupBarrier = image->reflection.usesThreadgroupBarrier;
  if (shape.kind == ThreadgroupShape::Kind::RowMultiple) {
    prefersExactShape_ = image->prefersExactShape;
    reflection_ = std::move(image->reflection);
  }
  publish(std::move(variant));
  return {};
}

Result<void> CpuPipeline::prepare(const Size3 &size, bool hasPartialGroups) {
  if (size.x == 0 || size.y == 0 || size.z == 0 || size.x > 1024 || size.y > 1024 ||
      size.z > 1024 || size.product() > maxTotalThreads_)
    return fail(ErrorKind::Validation,
                "Threadgroups of ({} x {} x {}) threads do not fit pipeline \"{}\", which takes 1 to "
                "{} threads.",
                size.x, size.y, size.z, reflection_.name, maxTotalThreads_);
  auto isReady = [&] {
    if (prefersExactShape_ && exactShapes_.load(std::memory_order_relaxed) < kMaxExactShapes) {
      const KernelVariant *v = first_.load(std::memory_order_acquire);
      while (v && !v->isExactlyFor(size))
        v = v->next;
      if (!v)
        return false;
    }
    return variantFor(size) && (!hasPartialGroups || find(ThreadgroupShape::Kind::Any));
  };
  if (isReady()) [[likely]]
    return {};
  if (fixed_)
    return fail(ErrorKind::Validation,
                "Pipeline \"{}\" has no code for threadgroups of ({} x {} x {}) threads.",
                reflection_.name, size.x, size.y, size.z);
  std::lock_guard lock(compileMutex_);
  if (isReady())
    return {};
  if (prefersExactShape_ && exactShapes_.load(std::memory_order_relaxed) < kMaxExactShapes) {
    ThreadgroupShape shape = exactShape(size);
    if (!addVariant(shape)) {
      // The general forms do the same, only slower. An entry without code says: not again.
      auto tombstone = std::make_unique<KernelVariant>();
      tombstone->name = request_.function;
      tombstone->shape = shape;
      publish(std::move(tombstone));
    }
    exactShapes_.fetch_add(1, std::memory_order_relaxed);
  }
  bool needsAny = !variantFor(size) || hasPartialGroups;
  if (needsAny && !find(ThreadgroupShape::Kind::Any))
    PEWTER_TRY_VOID(addVariant({ThreadgroupShape::Kind::Any, {0, 0, 0}}));
  return {};
}

} // namespace pewter::cpu
