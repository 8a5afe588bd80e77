# SPDX-FileCopyrightText: 2026 The libminfer authors
# SPDX-License-Identifier: Apache-2.0

# Finds the CUDA compiler, a host compiler that it takes, and the architectures to build for; then
# enables CMake's CUDA language. Everything found can be given instead: CMAKE_CUDA_COMPILER,
# MINFER_CUDA_CCBIN, MINFER_CUDA_ARCHS.
set(MINFER_CUDA_CCBIN "" CACHE STRING "Host compiler for nvcc; empty: the first that works")
set(MINFER_CUDA_ARCHS "" CACHE STRING
    "CUDA architectures as a list of compute capabilities (80;90); empty: all from 7.0 on")

function(minfer_find_nvcc)
  if(CMAKE_CUDA_COMPILER)
    return()
  endif()
  find_program(
    MINFER_NVCC nvcc
    HINTS ENV CUDACXX ENV CUDA_HOME ENV CUDA_PATH
    PATHS /usr/local/cuda
    PATH_SUFFIXES bin)
  if(NOT MINFER_NVCC)
    message(
      FATAL_ERROR
        "MINFER_CUDA=ON, but there is no nvcc on PATH, in CUDA_HOME, CUDA_PATH or /usr/local/cuda. "
        "Install the CUDA toolkit (https://developer.nvidia.com/cuda-downloads), set CUDA_HOME to "
        "where it is, or configure with -DMINFER_CUDA=OFF.")
  endif()
  set(CMAKE_CUDA_COMPILER ${MINFER_NVCC} CACHE FILEPATH "CUDA compiler")
endfunction()

# Sets `out` when nvcc compiles a kernel with this host compiler (empty: its own choice).
function(minfer_try_host_compiler host out)
  set(folder ${CMAKE_BINARY_DIR}/CMakeFiles/cuda_host)
  file(WRITE ${folder}/try.cu "#include <cstdint>\n__global__ void k(int* p) { *p = 1; }\n")
  set(flags -std=c++20 -c try.cu -o try.o)
  if(host)
    list(APPEND flags -ccbin ${host})
  endif()
  execute_process(
    COMMAND ${CMAKE_CUDA_COMPILER} ${flags}
    WORKING_DIRECTORY ${folder}
    RESULT_VARIABLE result
    OUTPUT_QUIET ERROR_QUIET)
  if(result EQUAL 0)
    set(${out} TRUE PARENT_SCOPE)
  else()
    set(${out} FALSE PARENT_SCOPE)
  endif()
endfunction()

# nvcc's default first, then what it may accept, newest first.
function(minfer_find_cuda_host_compiler)
  if(CMAKE_CUDA_HOST_COMPILER)
    return()
  endif()
  if(MINFER_CUDA_CCBIN)
    minfer_try_host_compiler(${MINFER_CUDA_CCBIN} works)
    if(NOT works)
      message(FATAL_ERROR "MINFER_CUDA_CCBIN=${MINFER_CUDA_CCBIN}: nvcc does not compile with it")
    endif()
    set(CMAKE_CUDA_HOST_COMPILER ${MINFER_CUDA_CCBIN} CACHE FILEPATH "Host compiler for nvcc")
    return()
  endif()
  minfer_try_host_compiler("" works)
  if(works)
    return()
  endif()
  foreach(name IN ITEMS g++-15 g++-14 g++-13 g++-12 g++-11 g++ clang++)
    find_program(MINFER_CUDA_HOST_${name} ${name})
    if(NOT MINFER_CUDA_HOST_${name})
      continue()
    endif()
    minfer_try_host_compiler(${MINFER_CUDA_HOST_${name}} works)
    if(works)
      set(CMAKE_CUDA_HOST_COMPILER ${MINFER_CUDA_HOST_${name}}
          CACHE FILEPATH "Host compiler for nvcc")
      return()
    endif()
  endforeach()
  message(
    FATAL_ERROR
      "${CMAKE_CUDA_COMPILER} compiles with none of its default host compiler, g++ 15 to 11, g++ "
      "and clang++. Install one that this toolkit supports or name it with -DMINFER_CUDA_CCBIN=...")
endfunction()

# Machine code for each architecture, and the intermediate form of the lowest and the highest, for
# devices that come later.
function(minfer_choose_cuda_archs)
  set(archs ${MINFER_CUDA_ARCHS})
  if(NOT archs)
    execute_process(
      COMMAND ${CMAKE_CUDA_COMPILER} --list-gpu-arch
      OUTPUT_VARIABLE listed
      RESULT_VARIABLE result
      ERROR_QUIET)
    string(REGEX MATCHALL "compute_[0-9]+" listed "${listed}")
    foreach(name IN LISTS listed)
      string(REPLACE "compute_" "" number ${name})
      if(number GREATER_EQUAL 70)
        list(APPEND archs ${number})
      endif()
    endforeach()
    list(REMOVE_DUPLICATES archs)
    list(SORT archs COMPARE NATURAL)
    if(NOT archs)
      message(FATAL_ERROR "${CMAKE_CUDA_COMPILER} --list-gpu-arch names no architecture from 7.0 "
                          "on. Name some with -DMINFER_CUDA_ARCHS=\"80;90\".")
    endif()
  endif()
  list(GET archs 0 lowest)
  list(GET archs -1 highest)
  set(wanted "")
  foreach(arch IN LISTS archs)
    list(APPEND wanted ${arch}-real)
  endforeach()
  list(APPEND wanted ${lowest}-virtual ${highest}-virtual)
  list(REMOVE_DUPLICATES wanted)
  set(CMAKE_CUDA_ARCHITECTURES ${wanted} PARENT_SCOPE)
  message(STATUS "CUDA: ${CMAKE_CUDA_COMPILER} for ${wanted}")
endfunction()

minfer_find_nvcc()
minfer_find_cuda_host_compiler()
minfer_choose_cuda_archs()
set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
enable_language(CUDA)
# CMake before 3.26 does not know that nvcc from 12.0 on takes C++20.
foreach(kind IN ITEMS STANDARD EXTENSION)
  if(NOT CMAKE_CUDA20_${kind}_COMPILE_OPTION)
    set(CMAKE_CUDA20_${kind}_COMPILE_OPTION "-std=c++20")
  endif()
endforeach()
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_EXTENSIONS OFF)
set(CMAKE_CUDA_VISIBILITY_PRESET hidden)
# Most of the library is device code, most of that for other devices than the one that runs it.
# Every driver of CUDA 13 unpacks this form; some that run programs of CUDA 12 do not.
if(CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
  add_compile_options($<$<COMPILE_LANGUAGE:CUDA>:--compress-mode=size>)
endif()
# FindCUDAToolkit of CMake 3.25 fails with toolkits from 13.0 on, so what is used is named here.
list(GET CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES 0 MINFER_CUDA_INCLUDE)
find_library(
  MINFER_CUDART_ARCHIVE cudart_static REQUIRED
  PATHS ${CMAKE_CUDA_IMPLICIT_LINK_DIRECTORIES} ${CMAKE_CUDA_HOST_IMPLICIT_LINK_DIRECTORIES}
  NO_DEFAULT_PATH)
add_library(minfer_cudart STATIC IMPORTED GLOBAL)
set_target_properties(
  minfer_cudart PROPERTIES IMPORTED_LOCATION ${MINFER_CUDART_ARCHIVE}
                           INTERFACE_LINK_LIBRARIES "Threads::Threads;${CMAKE_DL_LIBS};rt")
