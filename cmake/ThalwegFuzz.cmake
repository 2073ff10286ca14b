# thalweg_fuzzer(NAME SRCS a_fuzz.cc DEPS room ...)
#
# One libFuzzer binary, bin/NAME_fuzz, built by the preset `fuzz` only (clang). Its committed corpus is tests/fuzz/NAME/,
# which must exist. `./dev fuzz` runs all of them.

option(THALWEG_FUZZ "Build the fuzzers (needs clang)" OFF)
# Each family takes minutes to build with clang and sanitizers, so the fuzzers of kernels and services have few unless they are told otherwise, as in
# cmake --preset fuzz "-DTHALWEG_FUZZ_FAMILIES=array;math;state". kernel_trial_test, built with gcc, tries all of them.
set(THALWEG_FUZZ_FAMILIES state CACHE STRING "Families of operations that the fuzzer of kernels tries")
if(THALWEG_FUZZ)
  add_custom_target(fuzzers)
endif()

function(thalweg_fuzzer NAME)
  cmake_parse_arguments(ARG "" "" "SRCS;DEPS" ${ARGN})
  if(NOT EXISTS ${PROJECT_SOURCE_DIR}/tests/fuzz/${NAME})
    message(FATAL_ERROR "fuzzer '${NAME}' lacks its corpus tests/fuzz/${NAME}/")
  endif()
  if(NOT THALWEG_FUZZ)
    return()
  endif()
  add_executable(${NAME}_fuzz ${ARG_SRCS})
  target_link_libraries(${NAME}_fuzz PRIVATE thalweg_flags)
  target_link_options(${NAME}_fuzz PRIVATE -fsanitize=fuzzer)
  foreach(dep ${ARG_DEPS})
    target_link_libraries(${NAME}_fuzz PRIVATE thalweg::${dep})
  endforeach()
  add_dependencies(fuzzers ${NAME}_fuzz)
endfunction()
