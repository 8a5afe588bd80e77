# SPDX-FileCopyrightText: 2026 The libminfer authors
# SPDX-License-Identifier: Apache-2.0

# What the portable build links in place of the system's shared packages: Abseil built
# position-independent, and PCRE2's static archive as it is.
set(MINFER_PORTABLE_DEPS
    ${PROJECT_BINARY_DIR}/portable_deps
    CACHE PATH "Where capi/portable_deps.sh puts what the portable build links")
execute_process(COMMAND bash ${PROJECT_SOURCE_DIR}/capi/portable_deps.sh ${MINFER_PORTABLE_DEPS}
                        COMMAND_ERROR_IS_FATAL ANY)
find_package(absl REQUIRED PATHS ${MINFER_PORTABLE_DEPS} NO_DEFAULT_PATH)

find_path(MINFER_PCRE2_INCLUDE pcre2.h REQUIRED)
find_library(MINFER_PCRE2_ARCHIVE libpcre2-8.a REQUIRED)
add_library(PkgConfig::PCRE2 STATIC IMPORTED GLOBAL)
set_target_properties(
  PkgConfig::PCRE2
  PROPERTIES IMPORTED_LOCATION ${MINFER_PCRE2_ARCHIVE}
             INTERFACE_INCLUDE_DIRECTORIES ${MINFER_PCRE2_INCLUDE}
             INTERFACE_COMPILE_DEFINITIONS PCRE2_STATIC)
