#pragma once

#include <filesystem>
#include <string>

namespace vernier {

// The ONNX Runtime that runs models. It is loaded at run time, so that a model is measured on the
// one that its user has.
struct OrtLibrary {
  std::filesystem::path file;
  std::string version;  // "1.30.0"
};

// Names the file to load, which must be done before anything of ONNX Runtime's is used. Throws
// Error afterwards.
void choose_ort_library(std::filesystem::path file);

// Loads it at the first call: the chosen file, else the one that VERNIER_ONNXRUNTIME names, else
// that of the Python environment which Vernier is installed into, else Vernier's own, else the
// system's. Throws Error if there is none, or if it is older than 1.21.
const OrtLibrary& ort_library();

}  // namespace vernier
