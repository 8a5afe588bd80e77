// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"

#include "tests/support/test_data.h"

namespace minfer {
namespace {

StatusOr<int> Half(int x) {
  if (x % 2 != 0) return Status(StatusCode::kInvalidArgument, Subsystem::kApi, "odd");
  return x / 2;
}

StatusOr<int> Quarter(int x) {
  MF_ASSIGN_OR_RETURN(int half, Half(x));
  MF_ASSIGN_OR_RETURN(int quarter, Half(half));
  return quarter;
}

TEST_CASE("Status: carries every field and copies deeply", "[base]") {
  Status status = Status(StatusCode::kResourceExhausted, Subsystem::kPlan, "no room")
                      .WithName("blk.0.attn_q.weight")
                      .WithBytes(100, 64)
                      .WithOffset(4096);
  Status copy = status;
  status = Status();
  CHECK(status.ok());
  CHECK(copy.code() == StatusCode::kResourceExhausted);
  CHECK(copy.subsystem() == Subsystem::kPlan);
  CHECK(copy.name() == "blk.0.attn_q.weight");
  CHECK(copy.bytes_wanted() == 100);
  CHECK(copy.bytes_available() == 64);
  CHECK(copy.file_offset() == 4096);
  CHECK(copy.ToString() ==
        "RESOURCE_EXHAUSTED [plan] 'blk.0.attn_q.weight': no room (wanted 100 bytes, 64 available)"
        " at offset 4096");
}

TEST_CASE("Status: macros hand errors up and values down", "[base]") {
  CHECK(*Quarter(8) == 2);
  CHECK(Quarter(6).status().code() == StatusCode::kInvalidArgument);
  CHECK(Quarter(7).status().message() == "odd");
}

TEST_CASE("Status: an OK status is no error value", "[base]") {
  StatusOr<int> broken{Status()};
  CHECK(!broken.ok());
  CHECK(broken.status().code() == StatusCode::kInternal);
}

}  // namespace
}  // namespace minfer
