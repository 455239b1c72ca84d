// SPDX-License-Identifier: Apache-2.0
// Tested by tests/api/Library_test.cpp.
#include "metal/BinaryArchive.h"
#include "foundation/Files.h"
#include "metal/ComputePipeline.h"
#include "metal/Device.h"
#include "metal/ErrorDomain.h"
#include "metal/Property.h"
#include "metal/Validation.h"

namespace pewter::metal {
NS::detail::Root *BinaryArchiveDescriptor::makeCopy() const {
  auto *copy = new BinaryArchiveDescriptor();
  copy->url = url;
  return copy;
}

} // namespace pewter::metal

using namespace pewter::metal;

PEWTER_LABEL(BinaryArchive)
PEWTER_ALLOC(BinaryArchiveDescriptor)
PEWTER_OBJECT(BinaryArchiveDescriptor, NS::URL, url, setUrl)

namespace MTL {

BinaryArchive *Device::newBinaryArchive(const BinaryArchiveDescriptor *descriptor,
                                        NS::Error **error) {
  auto archive = NS::TransferPtr(new pewter::metal::BinaryArchive(implOf(this)));
  if (descriptor && descriptor->url()) {
    std::string path = pewter::foundation::pathOf(descriptor->url());
    auto images = pewter::device::PipelineArchive::load(path);
    if (!images) {
      setError(error, ErrorDomain::BinaryArchive,
               std::move(images.error()).whileDoing("reading binary archive \"" + path + "\""));
      return nullptr;
    }
    archive->images = std::move(*images);
  }
  auto *made = archive.get();
  archive.detach();
  return made;
}

bool BinaryArchive::addComputePipelineFunctions(const ComputePipelineDescriptor *descriptor,
                                                NS::Error **error) {
  auto *archive = implOf(this);
  if (!descriptor) {
    setError(error, ErrorDomain::BinaryArchive,
             {pewter::ErrorKind::Validation,
              "BinaryArchive::addComputePipelineFunctions: descriptor is null."});
    return false;
  }
  auto state =
      createPipelineState(*archive->device, *implOf(descriptor), PipelineOptionNone, archive);
  if (!state) {
    setError(error, ErrorDomain::BinaryArchive, state.error());
    return false;
  }
  // One image serves full threadgroups, another those at the edge of a grid: an archive holds both.
  auto made = NS::TransferPtr(*state);
  for (bool partial : {false, true})
    if (auto ready = made->backend->prepare({pewter::air::kSimdWidth, 1, 1}, partial); !ready) {
      setError(error, ErrorDomain::BinaryArchive, ready.error());
      return false;
    }
  return true;
}
bool BinaryArchive::addFunction(const FunctionDescriptor *, const Library *, NS::Error **error) {
  setError(error, ErrorDomain::BinaryArchive,
           {pewter::ErrorKind::Unsupported,
            "BinaryArchive::addFunction is not supported: functions are compiled as parts of "
            "pipelines; use addComputePipelineFunctions."});
  return false;
}
Device *BinaryArchive::device() const { return implOf(this)->device; }
bool BinaryArchive::serializeToURL(const NS::URL *url, NS::Error **error) {
  std::string path = pewter::foundation::pathOf(url);
  auto written = implOf(this)->images->save(path);
  if (written)
    return true;
  setError(error, ErrorDomain::BinaryArchive,
           std::move(written.error()).whileDoing("writing binary archive \"" + path + "\""));
  return false;
}

} // namespace MTL
