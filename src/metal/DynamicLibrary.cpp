// SPDX-License-Identifier: Apache-2.0
// Tested by tests/api/DynamicLibrary_test.cpp.
#include "metal/DynamicLibrary.h"
#include "foundation/Collections.h"
#include "foundation/Files.h"
#include "metal/ErrorDomain.h"
#include "metal/Property.h"
#include "metal/Validation.h"
#include <Metal/MTLDevice.hpp>
#include <set>

namespace pewter::metal {

std::vector<std::string> symbolsOf(const NS::Array *libraries) {
  std::set<std::string> symbols;
  std::vector<const Library *> work;
  std::set<const Library *> visited;
  for (auto &object : foundation::objectsOf(libraries))
    work.push_back(implOf(reinterpret_cast<MTL::DynamicLibrary *>(object.get()))->library.get());
  while (!work.empty()) {
    const Library *library = work.back();
    work.pop_back();
    if (!visited.insert(library).second)
      continue;
    for (const LibraryFunction &function : library->exports)
      symbols.insert(function.name);
    for (auto &linked : library->linked)
      work.push_back(linked->library.get());
  }
  return {symbols.begin(), symbols.end()};
}

namespace {

MTL::DynamicLibrary *wrap(foundation::Ref<Library> library, NS::Error **error) {
  if (library->type != MTL::LibraryTypeDynamic) {
    setError(error, ErrorDomain::Library,
             {ErrorKind::Compile, "Device::newDynamicLibrary: the library is not dynamic; it is "
                                  "compiled with CompileOptions::libraryType set to Dynamic."});
    return nullptr;
  }
  auto *made = new DynamicLibrary();
  made->library = std::move(library);
  return made;
}

} // namespace
} // namespace pewter::metal

using namespace pewter::metal;
using pewter::foundation::makeString;

PEWTER_LABEL(DynamicLibrary)

namespace MTL {

DynamicLibrary *Device::newDynamicLibrary(const Library *library, NS::Error **error) {
  if (!library) {
    setError(error, ErrorDomain::Library,
             {pewter::ErrorKind::Validation, "Device::newDynamicLibrary: library is null."});
    return nullptr;
  }
  return wrap(pewter::foundation::share(implOf(library)), error);
}
DynamicLibrary *Device::newDynamicLibrary(const NS::URL *url, NS::Error **error) {
  if (!url) {
    setError(error, ErrorDomain::Library,
             {pewter::ErrorKind::Validation, "Device::newDynamicLibrary: url is null."});
    return nullptr;
  }
  auto library = NS::TransferPtr(newLibrary(url, error));
  return library ? newDynamicLibrary(library.get(), error) : nullptr;
}

Device *DynamicLibrary::device() const { return implOf(this)->library->device; }
NS::String *DynamicLibrary::installName() const {
  return makeString(implOf(this)->library->installName);
}
bool DynamicLibrary::serializeToURL(const NS::URL *url, NS::Error **error) {
  const std::string path = pewter::foundation::pathOf(url);
  auto written = pewter::writeFileAtomically(path, implOf(this)->library->container);
  if (written)
    return true;
  setError(error, ErrorDomain::Library,
           std::move(written.error()).whileDoing("writing dynamic library \"" + path + "\""));
  return false;
}

} // namespace MTL
