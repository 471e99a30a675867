#pragma once

#include <filesystem>
#include <string>

namespace vernier {

// `chosen` if not empty, else the first interpreter that has PyTorch: that of python_environment(),
// that of the active virtual or conda environment, then every python3 on PATH. Throws Error,
// prefixed with `area` ("[export]"), if there is none or `chosen` does not run.
std::string find_python(const std::string& area, const std::string& chosen);

// As find_python(), but for another module, such as "tokenizers", which `chosen` must have too.
std::string find_python_with(const std::string& module, const std::string& area,
                             const std::string& chosen);

// The folder of Vernier's Python packages: VERNIER_PYTHONPATH if set, else the installed one.
// Throws Error if there is none.
std::filesystem::path python_packages(const std::string& area);

}  // namespace vernier
