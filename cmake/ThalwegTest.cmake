# thalweg_test(ROOM SRCS a_test.cc ... DEPS room ... [OWN_VERB])
#
# One test binary a room, bin/ROOM_test, one CTest test per gtest case, named ROOM:SUITE.CASE and labeled `unit`. The target
# unit_tests builds all of them; the file unit_tests.txt in the build folder names their rooms, one a line. OWN_VERB: needs what not every
# machine has (a device's driver); a verb of ./dev installs that and runs the binary, and nobody else does.

if(THALWEG_TESTS)
  include(GoogleTest)
  add_custom_target(unit_tests)
  file(WRITE ${PROJECT_BINARY_DIR}/unit_tests.txt "")
endif()

function(thalweg_test ROOM)
  if(NOT THALWEG_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "OWN_VERB" "" "SRCS;DEPS" ${ARGN})
  thalweg_units(units ${ROOM}_test ${ARG_SRCS})
  add_executable(${ROOM}_test ${units})
  target_link_libraries(${ROOM}_test PRIVATE thalweg_flags GTest::gtest_main GTest::gmock)
  foreach(dep ${ARG_DEPS})
    target_link_libraries(${ROOM}_test PRIVATE thalweg::${dep})
  endforeach()
  target_compile_options(${ROOM}_test PRIVATE -O0)  # half the time to compile; the rooms, which do the work, are optimized
  if(NOT THALWEG_SANITIZER)
    target_link_options(${ROOM}_test PRIVATE -Wl,--discard-all)  # of the names that no other file sees: a fifth of the program
  endif()
  thalweg_quick_test(${ROOM}_test)
  if(ARG_OWN_VERB)
    return()
  endif()
  add_dependencies(unit_tests ${ROOM}_test)
  file(APPEND ${PROJECT_BINARY_DIR}/unit_tests.txt "${ROOM}\n")
  gtest_discover_tests(${ROOM}_test TEST_PREFIX ${ROOM}: DISCOVERY_MODE PRE_TEST
    PROPERTIES TIMEOUT 300 LABELS unit)
endfunction()
