#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

namespace vernier {

// The folder of libvernier.so, whoever loaded it. Empty if it is linked statically and unknown.
std::filesystem::path installation_folder();

// The file or folder that came with the library and is opened only when needed: the PyTorch module,
// ONNX Runtime, DuckDB, the Python package. Looked for in vernier/ beside the library, wherever it
// was loaded from, in an installation as in a build folder. Empty if absent.
std::filesystem::path installed_file(std::string_view name);

// A Python, and where it finds packages.
struct PythonEnvironment {
  std::filesystem::path program;               // the interpreter; empty if unknown
  std::vector<std::filesystem::path> folders;  // in their order
};

// The one that loaded this library, else the one whose site-packages it lies in; else empty.
PythonEnvironment python_environment();

// For a Python that has loaded this library.
void set_python_environment(PythonEnvironment environment);

}  // namespace vernier
