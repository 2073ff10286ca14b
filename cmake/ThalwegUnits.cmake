# What makes builds quick, part two: small sources of a room are compiled several to a unit, since most of their time goes into the
# headers that all of them read.
#
# thalweg_units(OUT NAME file ...): OUT becomes the list of sources to compile for the target NAME: units, each of which includes
# sources up to THALWEG_UNIT_BYTES. Units name their sources relative to the project, so that a compiler cache serves every checkout.
# A source with the property SKIP_UNITY_BUILD_INCLUSION, or with definitions of its own, is compiled by itself.
# What sources of one room hide in anonymous namespaces must not clash. With THALWEG_UNITS off each file is compiled by
# itself: a missing #include is found, and clang-tidy reads one file at a time (the preset `files`).

option(THALWEG_UNITS "Compile small sources several to a unit" ON)
set(THALWEG_UNIT_BYTES 40000 CACHE STRING "How many bytes of sources make a unit")

function(thalweg_units OUT NAME)
  if(NOT THALWEG_UNITS OR THALWEG_FUZZ)
    set(${OUT} ${ARGN} PARENT_SCOPE)
    return()
  endif()
  set(folder ${PROJECT_BINARY_DIR}/generated/units)
  # gcc takes an included source for a header, whose classes must not hold types of an anonymous namespace.
  set(first "#pragma GCC diagnostic ignored \"-Wsubobject-linkage\"\n")
  set(units)
  set(content "")
  set(bytes 0)
  set(number 0)
  foreach(source ${ARGN})
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE OUTPUT_VARIABLE path)
    cmake_path(IS_PREFIX PROJECT_BINARY_DIR ${path} generated)
    get_source_file_property(definitions ${path} COMPILE_DEFINITIONS)
    get_source_file_property(alone ${path} SKIP_UNITY_BUILD_INCLUSION)
    if(NOT source MATCHES "\\.cc$" OR generated OR definitions OR alone)
      list(APPEND units ${source})
      continue()
    endif()
    file(SIZE ${path} size)
    math(EXPR bytes "${bytes} + ${size}")
    if(content AND bytes GREATER THALWEG_UNIT_BYTES)
      list(APPEND units ${folder}/${NAME}_${number}.cc)
      file(CONFIGURE OUTPUT ${folder}/${NAME}_${number}.cc CONTENT "${first}${content}")
      math(EXPR number "${number} + 1")
      set(content "")
      set(bytes ${size})
    endif()
    file(RELATIVE_PATH relative ${PROJECT_SOURCE_DIR} ${path})
    string(APPEND content "#include \"${relative}\"\n")
  endforeach()
  if(content)
    list(APPEND units ${folder}/${NAME}_${number}.cc)
    file(CONFIGURE OUTPUT ${folder}/${NAME}_${number}.cc CONTENT "${first}${content}")
  endif()
  set(${OUT} ${units} PARENT_SCOPE)
endfunction()
