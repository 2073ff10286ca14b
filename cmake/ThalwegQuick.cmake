# What makes builds quick: headers that many files read are compiled beforehand, once for the rooms and once for the tests.
#
# thalweg_quick_family(FAMILY): the unit tests of a family of operations share compiled headers in every preset but clang's. Its rooms
# do so under a sanitizer only, and without optimization there (kernels are thin: the loops lie in compute/): the other presets
# compile every file of a room by itself, so a missing #include is found.

set(THALWEG_QUICK_ROOMS OFF)
if(THALWEG_SANITIZER AND NOT THALWEG_FUZZ)
  set(THALWEG_QUICK_ROOMS ON)
endif()
set(THALWEG_QUICK_TESTS OFF)
if(THALWEG_TESTS AND NOT THALWEG_FUZZ)
  set(THALWEG_QUICK_TESTS ON)
endif()

# Who compiles the headers: nothing is linked against these two.
function(thalweg_quick_headers)
  if(THALWEG_QUICK_ROOMS)
    set(room_source ${PROJECT_BINARY_DIR}/generated/quick_room.cc)
    file(CONFIGURE OUTPUT ${room_source} CONTENT "")
    thalweg_library(quick_room SRCS ${room_source} DEPS kernel)
    target_compile_options(thalweg_quick_room PRIVATE -O0)
    target_precompile_headers(thalweg_quick_room PRIVATE
      <algorithm> <cmath> <complex> <limits> <string> <vector>
      ${PROJECT_SOURCE_DIR}/thalweg/graph/gradient_math.h
      ${PROJECT_SOURCE_DIR}/thalweg/graph/op_registry.h
      ${PROJECT_SOURCE_DIR}/thalweg/graph/shape_inference.h
      ${PROJECT_SOURCE_DIR}/thalweg/kernel/element_wise.h
      ${PROJECT_SOURCE_DIR}/thalweg/kernel/kernel_registry.h)
  endif()
  if(THALWEG_QUICK_TESTS)
    set(test_source ${PROJECT_BINARY_DIR}/generated/quick_test.cc)
    file(CONFIGURE OUTPUT ${test_source} CONTENT "int main() { return 0; }\n")
    add_executable(quick_test EXCLUDE_FROM_ALL ${test_source})
    target_link_libraries(quick_test PRIVATE thalweg_flags GTest::gtest_main GTest::gmock thalweg::testing)
    target_compile_options(quick_test PRIVATE -O0)
    target_precompile_headers(quick_test PRIVATE
      <algorithm> <cmath> <complex> <limits> <random> <string> <vector> <gmock/gmock.h> <gtest/gtest.h>
      ${PROJECT_SOURCE_DIR}/thalweg/kernel/kernel_registry.h
      ${PROJECT_SOURCE_DIR}/thalweg/testing/graph_runner.h
      ${PROJECT_SOURCE_DIR}/thalweg/testing/kernel_call.h
      ${PROJECT_SOURCE_DIR}/thalweg/testing/op_case.h)
  endif()
endfunction()

function(thalweg_quick_family FAMILY)
  if(THALWEG_QUICK_ROOMS)
    foreach(room thalweg_ops_${FAMILY} thalweg_ops_${FAMILY}_cpu)
      target_compile_options(${room} PRIVATE -O0 -fpch-preprocess)
      target_precompile_headers(${room} REUSE_FROM thalweg_quick_room)
    endforeach()
  endif()
  if(THALWEG_QUICK_TESTS)
    target_compile_options(ops_${FAMILY}_test PRIVATE -fpch-preprocess)
    target_precompile_headers(ops_${FAMILY}_test REUSE_FROM quick_test)
  endif()
endfunction()
