#pragma once

#include <filesystem>
#include <string_view>

namespace vernier {

// The file or folder that came with this program and is opened only when needed: the PyTorch
// module, DuckDB, the Python package. Looked for beside the program (or the library that holds this
// code) and in ../lib/vernier of it, in an installation as in a build folder. Empty if absent.
std::filesystem::path installed_file(std::string_view name);

}  // namespace vernier
