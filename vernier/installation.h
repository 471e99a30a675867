#pragma once

#include <filesystem>
#include <string_view>

namespace vernier {

// The folder of libvernier.so, whoever loaded it. Empty if it is linked statically and unknown.
std::filesystem::path installation_folder();

// The file or folder that came with the library and is opened only when needed: the PyTorch module,
// ONNX Runtime, DuckDB, the Python package. Looked for in vernier/ beside the library, wherever it
// was loaded from, in an installation as in a build folder. Empty if absent.
std::filesystem::path installed_file(std::string_view name);

}  // namespace vernier
