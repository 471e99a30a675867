#pragma once

#include <filesystem>
#include <string_view>

namespace vernier {

// The file or folder that came with the library and is opened only when needed: the PyTorch module,
// DuckDB, the Python package. Looked for in vernier/ beside the library, wherever it was loaded
// from, in an installation as in a build folder. Empty if absent.
std::filesystem::path installed_file(std::string_view name);

}  // namespace vernier
