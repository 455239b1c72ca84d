// SPDX-License-Identifier: Apache-2.0
//
// docs/compatibility.md has a row for every family of kernels and none that is not one. Quick: it
// reads the page, runs nothing.
#include "base/Bytes.h"
#include "ggml/Families.h"
#include <filesystem>
#include <gmock/gmock.h>
#include <sstream>

namespace pewter::testing {
namespace {

/// First cells of the rows of the table whose header begins with `header`.
std::vector<std::string> firstColumn(const std::string &page, std::string_view header) {
  std::vector<std::string> cells;
  std::istringstream lines(page);
  bool isInside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(header)) {
      isInside = true;
    } else if (!line.starts_with("|")) {
      isInside = false;
    } else if (isInside && !line.starts_with("|-")) {
      const size_t end = line.find(" |", 2);
      cells.push_back(line.substr(2, end - 2));
    }
  }
  return cells;
}

TEST(GgmlTable, StandsInTheDocsWithEveryFamily) {
  const auto page = readFile(std::filesystem::path(PEWTER_SOURCE_DIR) / "docs/compatibility.md");
  ASSERT_TRUE(page.has_value());
  std::vector<std::string> families = ggmlFamilies();
  families.push_back("all");
  for (const char *header : {"| family | kernels | compiled |", "| family | kernels in both |"})
    EXPECT_EQ(firstColumn(std::string(textOf(*page)), header), families) << header;
}

TEST(GgmlTable, NamesBelongToTheFamilyOfTheirLongestBeginning) {
  EXPECT_EQ(familyOf("kernel_mul_mm_id_map0_ne20_8"), "mul_mm_id");
  EXPECT_EQ(familyOf("kernel_mul_row_c4_fuse_1"), "binary");
  EXPECT_EQ(familyOf("kernel_flash_attn_ext_vec_reduce"), "flash_attn_ext_vec");
  EXPECT_EQ(familyOf("kernel_step_f32"), "unary");
  EXPECT_EQ(familyOf("kernel_unheard_of"), "");
  EXPECT_EQ(familyOf("step_f32"), "");
}

} // namespace
} // namespace pewter::testing
