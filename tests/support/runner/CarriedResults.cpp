// SPDX-License-Identifier: Apache-2.0
#include "runner/CarriedResults.h"
#include "base/Bytes.h"
#include "base/Toggles.h"
#include "device/KeyBuilder.h"

namespace pewter::testing {
namespace {

std::optional<std::filesystem::path> pathOf(const KernelCase &test) {
  auto folder = environment("PEWTER_CARRIED_RESULTS");
  if (!folder)
    return std::nullopt;
  device::KeyBuilder key;
  key.add(hashOf(*test.module)).add(test.function);
  for (const compiler::ConstantValue &constant : test.constants)
    key.add(uint64_t(constant.index)).add(ByteView(std::as_bytes(std::span(constant.bytes))));
  for (const Size &size : {test.launch.threadsPerGrid, test.launch.threadsPerThreadgroup})
    for (uint32_t extent : size)
      key.add(uint64_t(extent));
  for (auto [slot, bytes] : test.launch.threadgroupMemory)
    key.add(uint64_t(slot)).add(uint64_t(bytes));
  for (const auto &[slot, bytes] : test.buffers)
    key.add(uint64_t(slot)).add(ByteView(bytes));
  for (auto [slot, other] : test.sameAs)
    key.add(uint64_t(slot)).add(uint64_t(other));
  return std::filesystem::path(*folder) / key.hash().hex();
}

} // namespace

std::optional<Buffers> carriedResult(const KernelCase &test) {
  auto path = pathOf(test);
  if (!path)
    return std::nullopt;
  auto bytes = readFile(*path);
  if (!bytes)
    return std::nullopt;
  Buffers result;
  ByteView rest = *bytes;
  for (const auto &[slot, contents] : test.buffers) {
    if (rest.size() < contents.size())
      return std::nullopt;
    result[slot] = Bytes(rest.begin(), rest.begin() + ptrdiff_t(contents.size()));
    rest = rest.subspan(contents.size());
  }
  return result;
}

void carryResult(const KernelCase &test, const Buffers &result) {
  auto path = pathOf(test);
  if (!path)
    return;
  Bytes all;
  for (const auto &[slot, contents] : result)
    all.insert(all.end(), contents.begin(), contents.end());
  (void)writeFileAtomically(*path, all);
}

} // namespace pewter::testing
