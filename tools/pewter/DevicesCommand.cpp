// SPDX-License-Identifier: Apache-2.0
// `pewter devices`: what this machine can run on.
#include "pewter/Commands.h"
#include "pewter/Devices.h"
#include <CLI/CLI.hpp>
#include <Pewter/Pewter.hpp>
#include <cstdlib>

namespace pewter::tools {

std::string textOf(const NS::Error *error, const char *otherwise) {
  if (!error || !error->localizedDescription())
    return otherwise;
  return error->localizedDescription()->utf8String();
}

Result<NS::SharedPtr<MTL::Device>> deviceNamed(const std::string &asked) {
  const char *preferred = std::getenv("PEWTER_DEVICE");
  const std::string name = asked.empty() && preferred ? preferred : asked;
  NS::SharedPtr<NS::Array> devices = NS::TransferPtr(MTL::CopyAllDevices());
  // A kind ("cpu", "cuda", "null") is the first device of it.
  if (auto *device = name.empty() ? nullptr : Pewter::CreateDevice(name.c_str()))
    return NS::RetainPtr(device);
  std::string known;
  for (NS::UInteger i = 0; i < devices->count(); ++i) {
    auto *device = devices->object<MTL::Device>(i);
    std::string full = device->name()->utf8String();
    std::string shortName = full.substr(0, full.find(' '));
    known += (known.empty() ? "" : ", ") + full;
    if (name.empty() || name == full || name == shortName ||
        name == shortName.substr(0, shortName.find(':')))
      return NS::RetainPtr(device);
  }
  return fail(ErrorKind::Validation, "Device \"{}\" is not here; there are: {}.", name, known);
}

namespace {

int listDevices() {
  NS::SharedPtr<NS::AutoreleasePool> pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
  NS::SharedPtr<NS::Array> devices = NS::TransferPtr(MTL::CopyAllDevices());
  for (NS::UInteger i = 0; i < devices->count(); ++i) {
    auto *device = devices->object<MTL::Device>(i);
    MTL::Size most = device->maxThreadsPerThreadgroup();
    fmt::print("{}\n", device->name()->utf8String());
    fmt::print("  registry id            {}\n", device->registryID());
    fmt::print("  unified memory         {}\n", device->hasUnifiedMemory() ? "yes" : "no");
    fmt::print("  buffer length          up to {} bytes\n", device->maxBufferLength());
    fmt::print("  working set            up to {} bytes\n", device->recommendedMaxWorkingSetSize());
    fmt::print("  threads per threadgroup up to {} x {} x {}\n", most.width, most.height, most.depth);
    fmt::print("  threadgroup memory     up to {} bytes\n", device->maxThreadgroupMemoryLength());
  }
  return devices->count() > 0 ? 0 : 1;
}

} // namespace

void addDevices(CLI::App &app, int &status) {
  CLI::App *command = app.add_subcommand("devices", "List the devices of this machine");
  command->callback([&status] { status = listDevices(); });
}

} // namespace pewter::tools
