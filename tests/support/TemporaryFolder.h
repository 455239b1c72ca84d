// SPDX-License-Identifier: Apache-2.0
//
// TemporaryFolder: an empty folder that goes away with the object.
#pragma once
#include <cstdlib>
#include <filesystem>
#include <string>

namespace pewter::testing {

class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "pewter-test-XXXXXX").string();
    if (::mkdtemp(name.data()))
      path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty())
      std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;
  const std::filesystem::path &path() const { return path_; }

private:
  std::filesystem::path path_;
};

} // namespace pewter::testing
