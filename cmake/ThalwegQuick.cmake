# What makes builds quick: headers that many files read are compiled beforehand, once for the rooms above `kernel` and once for the
# tests. They are a third of the time of a unit.
#
# thalweg_quick_headers(): compiles them. thalweg_quick_room(TARGET), thalweg_quick_test(TARGET): TARGET reads them compiled.
# thalweg_quick_family(FAMILY): rooms and tests of a family of operations do so; under a sanitizer its rooms are compiled without
# optimization (kernels are thin: the loops lie in compute/), and the other rooms read their headers as text.
#
# The preset `files`, and clang's, compile every file by itself and read text, so a missing #include is found.

set(THALWEG_QUICK OFF)
if(THALWEG_UNITS AND NOT THALWEG_FUZZ)
  set(THALWEG_QUICK ON)
endif()
# What the standard library costs most for; given in front of a room's own headers.
set(THALWEG_QUICK_STANDARD <algorithm> <array> <atomic> <cmath> <complex> <cstring> <functional> <limits> <map> <memory> <mutex>
  <optional> <span> <string> <string_view> <unordered_map> <utility> <variant> <vector>)

# Who compiles the headers: nothing is linked against these two. Headers of the project stand in angle brackets: CMake writes those as
# they are, so a compiler cache knows them in every tree.
function(thalweg_quick_headers)
  if(NOT THALWEG_QUICK)
    return()
  endif()
  set(room_source ${PROJECT_BINARY_DIR}/generated/quick_room.cc)
  file(CONFIGURE OUTPUT ${room_source} CONTENT "")
  thalweg_library(quick_room SRCS ${room_source} DEPS kernel)
  if(THALWEG_SANITIZER)
    target_compile_options(thalweg_quick_room PRIVATE -O0)
  endif()
  target_precompile_headers(thalweg_quick_room PRIVATE
    ${THALWEG_QUICK_STANDARD}
    <thalweg/graph/gradient_math.h>
    <thalweg/graph/op_registry.h>
    <thalweg/graph/shape_inference.h>
    <thalweg/kernel/element_wise.h>
    <thalweg/kernel/kernel_registry.h>)
  if(THALWEG_TESTS)
    set(test_source ${PROJECT_BINARY_DIR}/generated/quick_test.cc)
    file(CONFIGURE OUTPUT ${test_source} CONTENT "int main() { return 0; }\n")
    add_executable(quick_test EXCLUDE_FROM_ALL ${test_source})
    target_link_libraries(quick_test PRIVATE thalweg_flags GTest::gtest_main GTest::gmock thalweg::testing)
    target_compile_options(quick_test PRIVATE -O0)
    target_precompile_headers(quick_test PRIVATE
      ${THALWEG_QUICK_STANDARD} <random> <gmock/gmock.h> <gtest/gtest.h>
      <thalweg/kernel/kernel_registry.h>
      <thalweg/testing/graph_runner.h>
      <thalweg/testing/kernel_call.h>
      <thalweg/testing/op_case.h>)
  endif()
endfunction()

function(thalweg_reads_compiled TARGET FROM)
  target_compile_options(${TARGET} PRIVATE -fpch-preprocess)
  target_precompile_headers(${TARGET} REUSE_FROM ${FROM})
endfunction()

function(thalweg_quick_room TARGET)
  if(THALWEG_QUICK AND NOT THALWEG_SANITIZER)
    thalweg_reads_compiled(${TARGET} thalweg_quick_room)
  endif()
endfunction()

function(thalweg_quick_test TARGET)
  if(THALWEG_QUICK AND THALWEG_TESTS)
    thalweg_reads_compiled(${TARGET} quick_test)
  endif()
endfunction()

function(thalweg_quick_family FAMILY)
  if(NOT THALWEG_QUICK)
    return()
  endif()
  foreach(room thalweg_ops_${FAMILY} thalweg_ops_${FAMILY}_cpu)
    if(THALWEG_SANITIZER)
      target_compile_options(${room} PRIVATE -O0)
    endif()
    thalweg_reads_compiled(${room} thalweg_quick_room)
  endforeach()
endfunction()
