# OnnxRuntime::Headers, and the library that is loaded at run time (nothing links it), from a prefix
# shaped like ONNX Runtime's release archive: ONNXRUNTIME_ROOT (cache, then environment), else the one scripts/setup.sh makes, else the system's.
if(DEFINED ENV{ONNXRUNTIME_ROOT})
  set(default_root $ENV{ONNXRUNTIME_ROOT})
else()
  set(default_root ${PROJECT_SOURCE_DIR}/.deps/onnxruntime)
endif()
set(ONNXRUNTIME_ROOT ${default_root} CACHE PATH "Prefix with include/ and lib/ of ONNX Runtime")

find_path(ONNXRUNTIME_INCLUDE_DIR onnxruntime_c_api.h
  HINTS ${ONNXRUNTIME_ROOT}/include PATH_SUFFIXES onnxruntime NO_CACHE REQUIRED)
find_library(ONNXRUNTIME_LIBRARY onnxruntime HINTS ${ONNXRUNTIME_ROOT}/lib NO_CACHE REQUIRED)

add_library(OnnxRuntime::Headers INTERFACE IMPORTED)
set_target_properties(OnnxRuntime::Headers PROPERTIES
  INTERFACE_INCLUDE_DIRECTORIES ${ONNXRUNTIME_INCLUDE_DIR})
