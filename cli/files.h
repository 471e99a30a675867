#pragma once

#include <CLI/CLI.hpp>

namespace vernier::cli {

// Throws Error if a file that the parsed command is to write is named by an empty text, has no
// folder, is one of the files that the command reads, or is written twice. Call it before any work.
void require_separate_files(const CLI::App& command);

}  // namespace vernier::cli
