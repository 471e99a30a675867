#pragma once

#include <filesystem>
#include <string>

namespace vernier {

// The ONNX Runtime library that runs models. It is loaded at run time, so that models run on the
// version that the user has installed.
struct OrtLibrary {
  std::filesystem::path file;
  std::string version;  // "1.30.0"
};

// Sets the library file to load. Throws Error if a library is already loaded.
void choose_ort_library(std::filesystem::path file);

// Loads the library at the first call: the chosen file, else the file named by VERNIER_ONNXRUNTIME,
// else that of Python's `onnxruntime` package in python_environment(), else the one installed with
// Vernier, else the system's. Throws Error if there is none, or if it is older than 1.21.
const OrtLibrary& ort_library();

}  // namespace vernier
