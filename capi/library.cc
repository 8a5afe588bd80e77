// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "minfer/library.h"

#include "base/str_cat.h"
#include "capi/build_info.h"
#include "capi/guard.h"
#include "capi/sized.h"
#include "engine/tuning.h"

namespace capi = minfer::capi;
using minfer::Lever;
using minfer::LeverResult;
using minfer::LeverScope;

static_assert(MINFER_BUILD_VERSION_NUMBER ==
                  MF_VERSION_NUMBER(MF_VERSION_MAJOR, MF_VERSION_MINOR, MF_VERSION_PATCH),
              "the version in library.h is that of the build");

static_assert(MF_LEVER_BIT_EQUAL == static_cast<int>(LeverResult::kBitEqual) &&
              MF_LEVER_TOLERANCE == static_cast<int>(LeverResult::kTolerance));
static_assert(MF_LEVER_MODEL == static_cast<int>(LeverScope::kModel) &&
              MF_LEVER_CONTEXT == static_cast<int>(LeverScope::kContext));

void mf_lever_info_init(mf_lever_info* out, size_t struct_size) {
  minfer::capi::InitSized(out, struct_size);
}

uint32_t mf_version(void) { return MINFER_BUILD_VERSION_NUMBER; }

const char* mf_version_string(void) { return MINFER_BUILD_VERSION; }

uint32_t mf_abi_version(void) { return MF_ABI_VERSION; }

const char* mf_build_info(void) { return MINFER_BUILD_INFO; }

int32_t mf_supports(mf_feature feature) {
  switch (feature) {
    case MF_FEATURE_MAPPED_FILES:
    case MF_FEATURE_CHAT_TEMPLATES:
      return 1;
    case MF_FEATURE_CPU_AVX2:
    case MF_FEATURE_CPU_AVX512:
      return MINFER_BUILD_X86_UNITS;
    default:
      return 0;
  }
}

size_t mf_lever_count(void) { return minfer::LeverTable().size(); }

mf_status mf_lever_get(size_t index, mf_lever_info* out_lever, mf_error* error) {
  return capi::Guard(error, [&](const capi::HostThread&) -> minfer::Status {
    MF_RETURN_IF_ERROR(capi::CheckOut(out_lever, "out_lever"));
    MF_RETURN_IF_ERROR(capi::CheckIndex("index", index, minfer::LeverTable().size()));
    const Lever& lever = minfer::LeverTable()[index];
    mf_lever_info info = MF_LEVER_INFO_INIT;
    info.result = static_cast<mf_lever_result>(lever.result);
    info.scope = static_cast<mf_lever_scope>(lever.scope);
    info.name = lever.name;
    info.meaning = lever.meaning;
    info.default_value = lever.default_value;
    info.min_value = lever.min_value;
    info.max_value = lever.max_value;
    capi::WriteSized(info, out_lever);
    return minfer::OkStatus();
  });
}
