#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace vernier::cli {

// A whole number of at least `least`.
CLI::Validator at_least(std::int64_t least);

}  // namespace vernier::cli
