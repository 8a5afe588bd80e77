// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// The failure bank's group A, as far as the container is concerned, one test a case.
#include <sys/stat.h>

#include "tests/support/alloc_counter.h"
#include "tests/unit/gguf/gguf_support.h"

namespace minfer {
namespace {

using testing::AllocPeak;
using testing::CheckRefused;
using testing::FindGgufVariant;
using testing::OpenVariant;

Status OpenPath(const std::string& path) {
  return ModelFiles::Open(path, FileAccess::kMap).status();
}

StatusOr<GgufFile> ParseVariant(const std::string& name) {
  StatusOr<ByteSourcePtr> source = OpenFileSource(FindGgufVariant(name).path);
  MF_REQUIRE_OK(source);
  return GgufFile::Parse(*source);
}

TEST_CASE("Gguf: A01 what is no GGUF file is refused by path and content", "[gguf]") {
  CheckRefused("magic", {FindGgufVariant("magic").path, "GGUX"});
  CheckRefused("magic_ggjt", {"tjgg", "older format"});
  CheckRefused("trunc_00", {"it is empty"});
  const std::string folder = testing::MakeTempDir("gguf-a01");
  const Status directory = OpenPath(folder);
  CHECK(directory.code() == StatusCode::kInvalidArgument);
  CHECK_THAT(directory.ToString(), Catch::Contains(folder) && Catch::Contains("a folder"));
  const std::string pipe = folder + "/pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  CHECK_THAT(OpenPath(pipe).ToString(), Catch::Contains(pipe) && Catch::Contains("a pipe"));
  const Status absent = OpenPath(folder + "/absent.gguf");
  CHECK(absent.code() == StatusCode::kNotFound);
  CHECK_THAT(absent.ToString(), Catch::Contains("absent.gguf"));
}

TEST_CASE("Gguf: A02 a short file is refused with the bytes that are missing", "[gguf]") {
  for (const char* name :
       {"trunc_03", "trunc_04", "trunc_07", "trunc_08", "trunc_15", "trunc_16", "trunc_23",
        "trunc_24", "trunc_31", "trunc_100", "trunc_400", "trunc_2000"}) {
    const Status status = OpenVariant(name);
    INFO(name << ": " << status.ToString());
    CHECK_FALSE(status.ok());
    if (std::string(name) == "trunc_03") continue;  // no magic yet
    CHECK(status.code() == StatusCode::kDataLoss);
  }
  const Status cut = OpenVariant("trunc_2000");
  CHECK(cut.file_offset() <= 2000);
  CHECK(cut.file_offset() + cut.bytes_available() == 2000);
}

TEST_CASE("Gguf: A03 a count that cannot stand in the file is refused before it is used",
          "[gguf]") {
  for (const char* name : {"n_tensors_max", "n_tensors_2_40"}) {
    testing::GgufVariants();  // outside the count
    const AllocPeak peak;
    CheckRefused(name, {"tensors cannot stand in"});
    CHECK(peak.Bytes() < (1 << 18));
  }
  for (const char* name : {"n_kv_max", "n_kv_2_40"}) {
    testing::GgufVariants();  // outside the count
    const AllocPeak peak;
    CheckRefused(name, {"key-value pairs cannot stand in"});
    CHECK(peak.Bytes() < (1 << 18));
  }
}

TEST_CASE("Gguf: A04 string length near 2^64 is refused", "[gguf]") {
  CheckRefused("key_len_max", {"18446744073709551615 bytes are needed"});
  CheckRefused("key_len_wrap", {"18446744073709551608 bytes are needed"});
  CheckRefused("key_len_2_31", {"2147483648 bytes are needed"});
  CheckRefused("key_65536", {"65535"});
  CheckRefused("key_bytes", {"not plain text", "\\x"});
}

TEST_CASE("Gguf: A05 a small file that asks for a gigabyte takes next to nothing", "[gguf]") {
  for (const char* name : {"key_len_1gib", "array_count_1g", "array_str_1g"}) {
    testing::GgufVariants();  // outside the count
    const AllocPeak peak;
    CheckRefused(name, {});
    CHECK(peak.Bytes() < (1 << 18));
  }
}

TEST_CASE("Gguf: A06 an array whose bytes wrap is refused", "[gguf]") {
  CheckRefused("array_count_max", {"an array of 18446744073709551615 u8"});
  CheckRefused("array_count_wrap", {"an array of 2305843009213693953 u64"});
  CheckRefused("array_str_cut", {"bytes are needed"});
}

TEST_CASE("Gguf: A07 more than four dimensions are refused", "[gguf]") {
  CheckRefused("ndims_5", {"5 dimensions", "extra.weight"});
  CheckRefused("ndims_max", {"4294967295 dimensions"});
  const StatusOr<GgufFile> scalar = ParseVariant("ndims_0");
  MF_REQUIRE_OK(scalar);
  const TensorInfo* tensor = scalar->FindTensor("extra.weight");
  REQUIRE(tensor != nullptr);
  CHECK(tensor->n_dims == 0);
  CHECK(tensor->bytes == 4);
}

TEST_CASE("Gguf: A09 A10 tensor sizes whose sum wraps are refused", "[gguf]") {
  CheckRefused("sum_wrap", {"past the end of the file", "x0"});
  CheckRefused("sum_wrap_only", {"past the end of the file", "x0"});
  CHECK(OpenVariant("sum_wrap").bytes_wanted() == 0x7FFFFFFFFFFFFFC0u);
}

TEST_CASE("Gguf: A11 unknown value types are refused by number", "[gguf]") {
  CheckRefused("type_13", {"unknown value type 13"});
  CheckRefused("type_neg", {"unknown value type 4294967295"});
  CheckRefused("array_type_13", {"unknown value type 13"});
}

TEST_CASE("Gguf: A13 an empty key is refused", "[gguf]") {
  CheckRefused("key_empty", {"a key is empty"});
}

TEST_CASE("Gguf: A14 keys and tensors that come twice are refused by name", "[gguf]") {
  CheckRefused("key_dup", {"comes twice"});
  CheckRefused("key_dup_type", {"comes twice"});
  CheckRefused("tensor_dup", {"comes twice"});
  CHECK_FALSE(OpenVariant("key_dup").name().empty());
  CHECK(OpenVariant("key_dup").file_offset() > 24);
}

TEST_CASE("Gguf: A15 A16 A17 A18 alignments are powers of two from 8 that leave room", "[gguf]") {
  CheckRefused("align_0", {"general.alignment", "0 is not a power of two"});
  CheckRefused("align_13", {"13 is not a power of two"});
  CheckRefused("align_4", {"4 is not a power of two of at least 8"});
  CheckRefused("align_1g", {"1073741824"});
  CheckRefused("align_2_31", {"2147483648"});
  CheckRefused("align_str", {"general.alignment", "string"});
  CheckRefused("align_arr", {"general.alignment", "array"});
  MF_REQUIRE_OK(OpenVariant("align_i32"));
  const StatusOr<GgufFile> file = ParseVariant("ok_align_64");
  MF_REQUIRE_OK(file);
  CHECK(file->alignment() == 64);
  CHECK(file->data_offset() % 64 == 0);
  for (const TensorInfo& tensor : file->tensors()) CHECK(tensor.file_offset % 64 == 0);
}

TEST_CASE("Gguf: A19 tensor names that are empty, long or hold a NUL are refused", "[gguf]") {
  CheckRefused("name_64", {"64 bytes"});
  CheckRefused("name_empty", {"has no name"});
  CheckRefused("name_nul", {"\\x00"});
}

TEST_CASE("Gguf: A20 zero dimensions divide nothing", "[gguf]") {
  const StatusOr<GgufFile> file = ParseVariant("dim_zero");
  MF_REQUIRE_OK(file);
  const TensorInfo* tensor = file->FindTensor("extra.weight");
  REQUIRE(tensor != nullptr);
  CHECK(tensor->bytes == 0);
  MF_REQUIRE_OK(ParseVariant("dim_zero_norm"));
  CheckRefused("dim_zero_huge", {"passes 2^63"});
}

TEST_CASE("Gguf: A21 removed and unknown tensor types are refused by number and tensor", "[gguf]") {
  CheckRefused("ttype_4", {"tensor type 4 ", "extra.weight"});
  CheckRefused("ttype_5", {"tensor type 5 ", "extra.weight"});
  CheckRefused("ttype_1f", {"tensor type 31 ", "extra.weight"});
  CheckRefused("ttype_21", {"tensor type 33 ", "extra.weight"});
  CheckRefused("ttype_24", {"tensor type 36 ", "extra.weight"});
  CheckRefused("ttype_26", {"tensor type 38 ", "extra.weight"});
  CheckRefused("ttype_ff", {"tensor type 255 ", "extra.weight"});
  CheckRefused("ttype_7fffffff", {"tensor type 2147483647 ", "extra.weight"});
  CheckRefused("ttype_ffffffff", {"tensor type 4294967295 ", "extra.weight"});
}

TEST_CASE("Gguf: A22 rows that are not whole blocks are refused", "[gguf]") {
  CheckRefused("row_q4_0", {"[33, 1]", "blocks of 32", "Q4_0"});
  CheckRefused("row_q4_k", {"[128, 2]", "blocks of 256", "Q4_K"});
  CheckRefused("row_q4_k_swap", {"[1, 256]", "blocks of 256"});
}

TEST_CASE("Gguf: A23 counts that are off by one are refused", "[gguf]") {
  CheckRefused("n_kv_minus1", {});
  CheckRefused("n_kv_plus1", {});
  CheckRefused("n_tensors_plus1", {});
}

TEST_CASE("Gguf: A24 a big-endian file is refused by its byte order", "[gguf]") {
  CheckRefused("big_endian", {"big-endian", "it is 3"});
}

TEST_CASE("Gguf: A25 versions 2 and 3 are read, others refused by number", "[gguf]") {
  CheckRefused("version_0", {"version 0"});
  CheckRefused("version_1", {"version 1", "convert the model"});
  CheckRefused("version_4", {"version 4"});
  CHECK(OpenVariant("version_4").code() == StatusCode::kUnimplemented);
  const StatusOr<GgufFile> two = ParseVariant("ok_v2");
  const StatusOr<GgufFile> three = ParseVariant("ok_spm");
  MF_REQUIRE_OK(two);
  MF_REQUIRE_OK(three);
  CHECK(two->version() == 2);
  CHECK(three->version() == 3);
  CHECK(two->metadata().size() == three->metadata().size());
  CHECK(two->tensors().size() == three->tensors().size());
  CHECK(two->data_offset() == three->data_offset());
}

TEST_CASE("Gguf: A28 misaligned and overlapping tensors are refused", "[gguf]") {
  CheckRefused("off_misaligned",
               {"33 is not a multiple of the alignment 32", "output_norm.weight"});
  CheckRefused("off_overlap", {"lies on that of tensor"});
}

TEST_CASE("Gguf: A29 a tensor past the end of the file is refused by name and size", "[gguf]") {
  CheckRefused("off_eof", {"blk.0.ffn_down.weight", "1099511627776"});
  CheckRefused("off_wrap", {"blk.0.ffn_down.weight", "18446744073709551584"});
  CheckRefused("off_header", {"blk.0.ffn_down.weight"});
  CheckRefused("big_extra", {"extra.weight", "1099511627776 bytes"});
  const Status status = OpenVariant("big_extra");
  CHECK(status.code() == StatusCode::kDataLoss);
  CHECK(status.name() == "extra.weight");
  CHECK(status.bytes_wanted() == uint64_t{1} << 40);
  CHECK(status.file_offset() > 0);
}

TEST_CASE("Gguf: A31 harmless tails are read", "[gguf]") {
  MF_REQUIRE_OK(OpenVariant("ok_tail"));
  MF_REQUIRE_OK(OpenVariant("ok_no_last_pad"));
}

TEST_CASE("Gguf: A50 a bool stored as 2 is true", "[gguf]") {
  const StatusOr<GgufFile> file = ParseVariant("bool_2");
  MF_REQUIRE_OK(file);
  int bools = 0;
  const Metadata& metadata = file->metadata();
  for (size_t i = 0; i < metadata.size(); ++i) {
    if (metadata.type(i) != GgufType::kBool) continue;
    ++bools;
    CHECK(*metadata.GetBool(metadata.key(i)));
  }
  CHECK(bools == 1);
}

TEST_CASE("Gguf: A51 counts of another width, empty strings and arrays are read", "[gguf]") {
  const StatusOr<GgufFile> wide = ParseVariant("ok_u64_hparams");
  MF_REQUIRE_OK(wide);
  CHECK(*wide->metadata().GetU32("llama.context_length") == 64);
  const StatusOr<GgufFile> empty = ParseVariant("ok_empty_name_kv");
  MF_REQUIRE_OK(empty);
  CHECK(empty->metadata().GetString("x.empty")->empty());
  CHECK(empty->metadata().GetU32Array("x.none")->empty());
}

TEST_CASE("Gguf: A40 A43 A48 a value of the wrong type is an error that names its key", "[gguf]") {
  const StatusOr<GgufFile> arch = ParseVariant("arch_u32");
  MF_REQUIRE_OK(arch);
  const Status status = arch->metadata().GetString("general.architecture").status();
  CHECK(status.code() == StatusCode::kInvalidArgument);
  CHECK(status.name() == "general.architecture");
  CHECK_THAT(std::string(status.message()), Catch::Contains("u32") && Catch::Contains("string"));
  const StatusOr<GgufFile> heads = ParseVariant("heads_array");
  MF_REQUIRE_OK(heads);
  CHECK_FALSE(heads->metadata().GetU32("llama.attention.head_count").ok());
  CHECK(*heads->metadata().GetU32Array("llama.attention.head_count") == std::vector<uint32_t>{4});
  const StatusOr<GgufFile> negative = ParseVariant("heads_neg");
  MF_REQUIRE_OK(negative);
  CHECK_FALSE(negative->metadata().GetU32("llama.attention.head_count").ok());
  CHECK(*negative->metadata().GetI32("llama.attention.head_count") == -4);
  const StatusOr<GgufFile> scores = ParseVariant("scores_u8");
  MF_REQUIRE_OK(scores);
  CHECK_FALSE(scores->metadata().GetF32Array("tokenizer.ggml.scores").ok());
  const StatusOr<GgufFile> types = ParseVariant("types_u8");
  MF_REQUIRE_OK(types);
  CHECK_FALSE(types->metadata().GetI32Array("tokenizer.ggml.token_type").ok());
}

}  // namespace
}  // namespace minfer
