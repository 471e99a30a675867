#pragma once

#include <filesystem>
#include <string>

namespace vernier {

// The interpreter that was chosen, else that of the active environment if it has PyTorch, else the
// first python3 on PATH that has it. Throws Error, which begins with `area` ("[export]"), if there
// is none.
std::string find_python(const std::string& area, const std::string& chosen);

// The same of another module, as "tokenizers".
std::string find_python_with(const std::string& module, const std::string& area,
                             const std::string& chosen);

// The folder of Vernier's Python packages, which came with the program or is where
// VERNIER_PYTHONPATH says. Throws Error if there is none.
std::filesystem::path python_packages(const std::string& area);

}  // namespace vernier
