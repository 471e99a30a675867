# What `cmake --install` copies: the folders that Layout.cmake describes.

# A file that comes along as a companion of the library: installed, and linked to in the build folder.
function(add_companion file name)
  install(PROGRAMS ${file} DESTINATION ${companions} RENAME ${name})
  file(CREATE_LINK ${file} ${PROJECT_BINARY_DIR}/${companions}/${name} SYMBOLIC)
endfunction()

install(TARGETS vernier DESTINATION lib)
if(TARGET vernier_cli)
  install(TARGETS vernier_cli DESTINATION bin)
endif()
if(TARGET vernier_torch)
  install(TARGETS vernier_torch DESTINATION ${companions})
endif()

# ONNX Runtime comes along unless it is the system's.
cmake_path(IS_PREFIX ONNXRUNTIME_ROOT ${ONNXRUNTIME_LIBRARY} NORMALIZE onnxruntime_is_ours)
if(onnxruntime_is_ours)
  file(REAL_PATH ${ONNXRUNTIME_LIBRARY} onnxruntime_file)
  add_companion(${onnxruntime_file} libonnxruntime.so.1)
endif()
if(EXISTS ${DUCKDB_ROOT}/lib/libduckdb.so)
  add_companion(${DUCKDB_ROOT}/lib/libduckdb.so libduckdb.so)
endif()

install(DIRECTORY python/vernier_export python/vernier_host DESTINATION ${companions}/python
  PATTERN __pycache__ EXCLUDE)
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/python ${PROJECT_BINARY_DIR}/${companions}/python SYMBOLIC)

# For programs that are built on the library: its public headers, and what find_package(vernier) reads.
install(CODE "set(source \"${PROJECT_SOURCE_DIR}\")")
install(SCRIPT cmake/InstallHeaders.cmake)
include(CMakePackageConfigHelpers)
set(package lib/cmake/vernier)
configure_package_config_file(cmake/vernierConfig.cmake.in ${PROJECT_BINARY_DIR}/vernierConfig.cmake
  INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/vernierConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/vernierConfig.cmake ${PROJECT_BINARY_DIR}/vernierConfigVersion.cmake
  DESTINATION ${package})
