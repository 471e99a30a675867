# onnx_proto: onnx.proto compiled under the package name vernier_onnx. libtorch brings another copy
# of package `onnx` into the process, and two copies abort at start. onnx_proto_objects is part of
# the library; onnx_proto is the header, for whoever links the library too: no second copy there.
find_package(Protobuf REQUIRED)
find_file(ONNX_PROTO onnx.proto HINTS ${ONNXRUNTIME_ROOT}/share /usr/include/onnx NO_CACHE REQUIRED)

set(generated ${PROJECT_BINARY_DIR}/generated)
file(MAKE_DIRECTORY ${generated})
file(READ ${ONNX_PROTO} proto_text)
string(REGEX REPLACE "\npackage onnx;" "\npackage vernier_onnx;\noption cc_enable_arenas = true;" proto_text "${proto_text}")
file(CONFIGURE OUTPUT ${generated}/vernier_onnx.proto CONTENT "${proto_text}" @ONLY)
add_custom_command(
  OUTPUT ${generated}/vernier_onnx.pb.cc ${generated}/vernier_onnx.pb.h
  COMMAND protobuf::protoc --proto_path=${generated} --cpp_out=${generated} ${generated}/vernier_onnx.proto
  DEPENDS ${generated}/vernier_onnx.proto)

add_library(onnx_proto INTERFACE)
target_include_directories(onnx_proto SYSTEM INTERFACE ${generated})
target_link_libraries(onnx_proto INTERFACE protobuf::libprotobuf)
add_library(onnx_proto_objects OBJECT ${generated}/vernier_onnx.pb.cc ${generated}/vernier_onnx.pb.h)
target_compile_options(onnx_proto_objects PRIVATE -w)
target_link_libraries(onnx_proto_objects PRIVATE onnx_proto)
