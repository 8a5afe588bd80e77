// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// Every file of gguf_bad.py through the container's reader.
#include "tests/support/gguf_variants.h"

#include "gguf/model_files.h"
#include "tests/support/test_data.h"

namespace minfer {
namespace {

using testing::GgufVariant;

TEST_CASE("Gguf: every damaged variant has the outcome that its list says", "[gguf]") {
  const std::vector<GgufVariant>& variants = testing::GgufVariants();
  REQUIRE(variants.size() == 177);
  int refused = 0;
  int left_to_the_loader = 0;
  for (const FileAccess access : {FileAccess::kMap, FileAccess::kRead}) {
    for (const GgufVariant& variant : variants) {
      const StatusOr<ModelFiles> files = ModelFiles::Open(variant.path, access);
      INFO(variant.name << " (" << variant.note << "): " << files.status().ToString());
      if (variant.want == "load") CHECK(files.ok());
      if (testing::ContainerMustRefuse(variant)) {
        CHECK_FALSE(files.ok());
        CHECK_FALSE(files.status().name().empty());
        CHECK_FALSE(files.status().message().empty());
        ++refused;
      } else if (variant.want == "reject") {
        // A sound container: its model or vocabulary is what the loader must refuse.
        CHECK(files.ok());
        ++left_to_the_loader;
      }
    }
  }
  CHECK(refused == 2 * 73);
  CHECK(left_to_the_loader == 2 * 42);
}

}  // namespace
}  // namespace minfer
