# What `cmake --install` copies. The build folder has the same shape (bin/, lib/vernier/), so that
# vernier/installation.h finds the companions of the program in both.
set(companions lib/vernier)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/${companions})

set_target_properties(vernier_cli PROPERTIES INSTALL_RPATH "$ORIGIN/../${companions}")
install(TARGETS vernier_cli DESTINATION bin)
if(TARGET vernier_torch)
  install(TARGETS vernier_torch DESTINATION ${companions})
endif()

# ONNX Runtime comes along unless it is the system's.
cmake_path(IS_PREFIX ONNXRUNTIME_ROOT ${ONNXRUNTIME_LIBRARY} NORMALIZE onnxruntime_is_ours)
if(onnxruntime_is_ours)
  file(REAL_PATH ${ONNXRUNTIME_LIBRARY} onnxruntime_file)
  install(PROGRAMS ${onnxruntime_file} DESTINATION ${companions} RENAME libonnxruntime.so.1)
endif()

set(duckdb ${CMAKE_SOURCE_DIR}/.deps/duckdb/lib/libduckdb.so)
if(EXISTS ${duckdb})
  install(PROGRAMS ${duckdb} DESTINATION ${companions})
  file(CREATE_LINK ${duckdb} ${CMAKE_BINARY_DIR}/${companions}/libduckdb.so SYMBOLIC)
endif()

install(DIRECTORY python DESTINATION ${companions} PATTERN __pycache__ EXCLUDE)
file(CREATE_LINK ${CMAKE_SOURCE_DIR}/python ${CMAKE_BINARY_DIR}/${companions}/python SYMBOLIC)
