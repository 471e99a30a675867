# The build folder has the shape of an installation, so that vernier/installation.h and the loader
# find things by the same relative paths in both: bin/, lib/libvernier.so, and in lib/vernier/ the
# companions of the library: the PyTorch module, ONNX Runtime, DuckDB, the Python package.
set(companions lib/vernier)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
set(CMAKE_INSTALL_RPATH "$ORIGIN/../lib")
set(CMAKE_LINK_DEPENDS_NO_SHARED ON) # programs need not be linked again when the library changes
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/${companions})
