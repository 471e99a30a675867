#pragma once

#include <filesystem>
#include <string>

namespace vernier {

// The interpreter that was chosen, else the first that has PyTorch: that of the environment which
// Vernier is installed into, that of the active environment, every python3 on PATH. Throws Error,
// which begins with `area` ("[export]"), if there is none.
std::string find_python(const std::string& area, const std::string& chosen);

// The same of another module, as "tokenizers".
std::string find_python_with(const std::string& module, const std::string& area,
                             const std::string& chosen);

// The folder of Vernier's Python packages, which came with the program or is where
// VERNIER_PYTHONPATH says. Throws Error if there is none.
std::filesystem::path python_packages(const std::string& area);

}  // namespace vernier
