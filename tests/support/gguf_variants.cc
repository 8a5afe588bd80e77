// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/gguf_variants.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <sstream>

#include "tests/support/test_data.h"

namespace minfer::testing {
namespace {

// Faults that the script counts to the model's stage, but which the container's numbers show.
constexpr std::array<const char*, 7> kModelStageRefusedByContainer = {
    "name_empty",    "name_nul",     "sum_wrap_only", "big_extra",
    "split_missing", "split_second", "split_no_range"};

// argv: script, folder for the files, file for the list.
constexpr const char* kMakeAll =
    "import subprocess, sys\n"
    "script, folder, listing = sys.argv[1:4]\n"
    "subprocess.run([sys.executable, script, \"--all\", folder], check=True, capture_output=True)\n"
    "with open(listing, \"w\") as out:\n"
    "    subprocess.run([sys.executable, script, \"--list\"], check=True, stdout=out)\n";

class VariantFiles {
 public:
  VariantFiles() : folder_(MakeTempDir("gguf-variants")) {
    const std::string listing = folder_ + "/list.tsv";
    REQUIRE(RunPython({"-c", kMakeAll, TestDataPath("gguf_bad.py"), folder_, listing}));
    std::istringstream lines(ReadFile(listing));
    for (std::string line; std::getline(lines, line);) {
      std::istringstream fields(line);
      GgufVariant variant;
      for (std::string* field :
           {&variant.name, &variant.case_id, &variant.stage, &variant.want, &variant.note}) {
        std::getline(fields, *field, '\t');
      }
      variant.path = folder_ + "/" + variant.name + ".gguf";
      variants_.push_back(std::move(variant));
    }
  }
  ~VariantFiles() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  const std::vector<GgufVariant>& variants() const { return variants_; }

 private:
  std::string folder_;
  std::vector<GgufVariant> variants_;
};

}  // namespace

const std::vector<GgufVariant>& GgufVariants() {
  static const VariantFiles files;
  return files.variants();
}

const GgufVariant& FindGgufVariant(const std::string& name) {
  const std::vector<GgufVariant>& variants = GgufVariants();
  const auto found = std::find_if(variants.begin(), variants.end(),
                                  [&](const GgufVariant& variant) { return variant.name == name; });
  INFO(name);
  REQUIRE(found != variants.end());
  return *found;
}

bool ContainerMustRefuse(const GgufVariant& variant) {
  if (variant.want != "reject") return false;
  if (variant.stage == "gguf") return true;
  return std::find(kModelStageRefusedByContainer.begin(), kModelStageRefusedByContainer.end(),
                   variant.name) != kModelStageRefusedByContainer.end();
}

}  // namespace minfer::testing
