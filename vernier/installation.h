#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

namespace vernier {

// The folder that holds libvernier.so. Empty if the path of the library is unknown.
std::filesystem::path installation_folder();

// The path of a file or folder that is installed with the library and opened only when needed: the
// PyTorch module, ONNX Runtime, DuckDB, the Python package. It is searched for in vernier/ next to
// the library, both in an installation and in a build folder. Empty if absent.
std::filesystem::path installed_file(std::string_view name);

// A Python interpreter and its package folders.
struct PythonEnvironment {
  std::filesystem::path program;               // the interpreter; empty if unknown
  std::vector<std::filesystem::path> folders;  // in search order
};

// The environment of the Python process that loaded this library, else the one whose site-packages
// contains it, else an empty one.
PythonEnvironment python_environment();

// Called by the Python binding to say which environment loaded this library.
void set_python_environment(PythonEnvironment environment);

}  // namespace vernier
