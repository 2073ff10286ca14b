# What `./dev install PREFIX` installs: libthalweg.so, the headers (ops.h is written from the schemas), a CMake package (find_package(thalweg), target
# thalweg::thalweg) and a pkg-config file. In the tree the same target and the same #include lines work.

set(CMAKE_INSTALL_LIBDIR lib)  # also below /usr: one place to look
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
find_package(Python3 COMPONENTS Interpreter REQUIRED)

set(headers
  attr.h c_api.h c_checkpoint.h c_control_flow.h c_dataset.h c_files.h c_machine.h c_message.h c_model.h c_server.h
  c_trace.h c_types.h control_flow.h dataset.h dataset_stages.h environment.h graph.h iterator.h kernel_api.h model.h
  optimizer.h output.h saver.h session.h tensor.h thalweg.h trace.h)
foreach(header ${headers})
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/include/thalweg/${header}
    CONTENT "#include \"@PROJECT_SOURCE_DIR@/thalweg/api/${header}\"\n" @ONLY)
  install(FILES ${PROJECT_SOURCE_DIR}/thalweg/api/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/thalweg)
endforeach()
set(ops_header ${PROJECT_BINARY_DIR}/generated/include/thalweg/ops.h)
add_custom_command(OUTPUT ${ops_header}
  COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/gen_cpp_ops.py ${PROJECT_SOURCE_DIR}/tools/tf_facts/ops.jsonl ${ops_header}
  DEPENDS ${PROJECT_SOURCE_DIR}/tools/gen_cpp_ops.py ${PROJECT_SOURCE_DIR}/tools/tf_facts/ops.jsonl)
add_custom_target(thalweg_ops_header ALL DEPENDS ${ops_header})
add_dependencies(thalweg_shared thalweg_ops_header)
install(FILES ${ops_header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/thalweg)
add_library(thalweg::thalweg ALIAS thalweg_shared)
target_include_directories(thalweg_shared INTERFACE
  $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/generated/include>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
set_target_properties(thalweg_shared PROPERTIES EXPORT_NAME thalweg)

# The components, which the library looks for beside itself when they are first needed: those whose libraries are here.
set(THALWEG_COMPONENTS dnnl grpc icu images linalg re2 sqlite zlib)
list(TRANSFORM THALWEG_COMPONENTS PREPEND thalweg_)
foreach(component ${THALWEG_COMPONENTS})
  if(NOT TARGET ${component})
    list(REMOVE_ITEM THALWEG_COMPONENTS ${component})
  endif()
endforeach()

# `./dev install` builds this target: the library, its components, the headers that are made, and the command.
add_custom_target(installed)
add_dependencies(installed thalweg_shared ${THALWEG_COMPONENTS} thalweg_ops_header)

if(THALWEG_KIND STREQUAL SHARED)
  return()  # a build under a sanitizer is not for users
endif()
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/thalweg)
install(TARGETS thalweg_shared EXPORT thalwegTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT thalwegTargets NAMESPACE thalweg:: FILE thalwegConfig.cmake DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/thalwegConfigVersion.cmake COMPATIBILITY SameMinorVersion)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/thalweg.pc @ONLY CONTENT [[
prefix=${pcfiledir}/../..
Name: thalweg
Description: A virtual machine for tensor dataflow graphs
Version: @PROJECT_VERSION@
Libs: -L${prefix}/lib -lthalweg
Cflags: -I${prefix}/include
]])
install(FILES ${PROJECT_BINARY_DIR}/thalwegConfigVersion.cmake DESTINATION ${package})
install(FILES ${PROJECT_BINARY_DIR}/thalweg.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/thalweg)
