// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0
#include "minfer/library.h"

#include "capi/build_info.h"
#include "capi/sized.h"

static_assert(MINFER_BUILD_VERSION_NUMBER ==
                  MF_VERSION_NUMBER(MF_VERSION_MAJOR, MF_VERSION_MINOR, MF_VERSION_PATCH),
              "the version in library.h is that of the build");

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
