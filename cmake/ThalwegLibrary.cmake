# thalweg_library(ROOM SRCS a.cc b.cc ... DEPS room ... [OPTIONS flag ...] [ALONE] [QUICK] [COLD])
#
# One room = one target thalweg_ROOM with the alias thalweg::ROOM. Every target gets the project's warnings and
# flags. DEPS names rooms; the levels of ARCHITECTURE.md are checked by tools/check_layers.py, not here. ALONE: each source is
# compiled by itself, where inner loops should not depend on their neighbors. QUICK: compiled headers, see ThalwegQuick.cmake. COLD: what
# runs once for a graph and not in steps is optimized less, for two thirds of the time to compile.

find_package(Threads REQUIRED)

set(CMAKE_CXX_FLAGS_RELEASE "-O2")
set(CMAKE_CXX_FLAGS_PROFILE "-O2 -g1")  # for who wants lines beside the names of functions: objects are 2 to 5 times as large
set(CMAKE_C_FLAGS_PROFILE "${CMAKE_CXX_FLAGS_PROFILE}")
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g")
set(CMAKE_CXX_FLAGS_SANITIZE "-O1 -g1 -fno-omit-frame-pointer")
set(CMAKE_C_FLAGS_SANITIZE "${CMAKE_CXX_FLAGS_SANITIZE}")

find_program(THALWEG_MOLD mold)

# -Wno-array-bounds, -Wno-stringop-overflow: gcc 12 takes the inline branch of Tensor::data for the only one.
# -ffp-contract=off: a fused multiply-add is written by name, so that bits do not depend on the instruction set.
# -fno-tree-slp-vectorize: two adjacent 8-byte stores followed by a 16-byte load miss store forwarding (executor).
# --param=ggc-min-heapsize: the compiler collects its garbage from half a gigabyte on, not from 128 MB: 8 % less time for a
# tenth more memory, where headers and templates are most of the work.
add_library(thalweg_plain_flags INTERFACE)
target_compile_options(thalweg_plain_flags INTERFACE
  -Wall -Wextra -Werror -Wno-missing-field-initializers -Wno-array-bounds -Wno-stringop-overflow -ffp-contract=off
  $<$<COMPILE_LANGUAGE:CXX>:-fno-tree-slp-vectorize> $<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=524288>)
target_include_directories(thalweg_plain_flags INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/generated)
target_link_libraries(thalweg_plain_flags INTERFACE Threads::Threads)
if(THALWEG_MOLD)
  target_link_options(thalweg_plain_flags INTERFACE -fuse-ld=mold)
endif()
if(THALWEG_FUZZ)  # built with clang, whose warnings differ; gcc's are the ones that count
  target_compile_options(thalweg_plain_flags INTERFACE -Wno-error -w -fsanitize=fuzzer-no-link)
endif()
# What everything is compiled with: the above and the sanitizers.
add_library(thalweg_flags INTERFACE)
target_link_libraries(thalweg_flags INTERFACE thalweg_plain_flags)
if(THALWEG_SANITIZER)
  add_library(thalweg_sanitizer INTERFACE)
  target_compile_options(thalweg_sanitizer INTERFACE -fsanitize=${THALWEG_SANITIZER} -fno-sanitize-recover=all)
  target_link_options(thalweg_sanitizer INTERFACE -fsanitize=${THALWEG_SANITIZER})
  target_link_libraries(thalweg_flags INTERFACE thalweg_sanitizer)
endif()

# Sanitizers make a test that holds every room ten times as large (half a gigabyte): there the rooms are shared objects.
set(THALWEG_KIND STATIC)
if(THALWEG_SANITIZER AND NOT THALWEG_FUZZ)
  set(THALWEG_KIND SHARED)
  set(CMAKE_CXX_VISIBILITY_PRESET default)
  set(CMAKE_VISIBILITY_INLINES_HIDDEN OFF)
endif()

function(thalweg_library ROOM)
  cmake_parse_arguments(ARG "ALONE;QUICK;COLD" "" "SRCS;DEPS;OPTIONS" ${ARGN})
  if(ARG_ALONE)
    set(units ${ARG_SRCS})
  else()
    thalweg_units(units ${ROOM} ${ARG_SRCS})
  endif()
  add_library(thalweg_${ROOM} ${THALWEG_KIND} ${units})
  set_target_properties(thalweg_${ROOM} PROPERTIES DEFINE_SYMBOL "")  # precompiled headers fit every room
  add_library(thalweg::${ROOM} ALIAS thalweg_${ROOM})
  target_link_libraries(thalweg_${ROOM} PUBLIC thalweg_flags)
  foreach(dep ${ARG_DEPS})
    target_link_libraries(thalweg_${ROOM} PUBLIC thalweg::${dep})
  endforeach()
  if(ARG_OPTIONS)
    target_compile_options(thalweg_${ROOM} PRIVATE ${ARG_OPTIONS})
  endif()
  if(ARG_COLD)
    target_compile_options(thalweg_${ROOM} PRIVATE $<$<CONFIG:Release,Profile>:-O1>)
  endif()
  if(ARG_QUICK)
    thalweg_quick_room(thalweg_${ROOM})
  endif()
endfunction()
