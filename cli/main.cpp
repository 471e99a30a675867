#include <cstdio>
#include <exception>

#include "cli/output.h"
#include "cli/program.h"
#include "vernier/utf8.h"

int main(int argc, char** argv) {
  try {
    vernier::cli::remember_command_line({argv, static_cast<std::size_t>(argc)});
    return vernier::cli::run_program(argc, argv);
  } catch (const std::exception& error) {
    // One line, whatever names out of files it holds.
    std::fprintf(stderr, "vernier: %s\n", vernier::printable(error.what()).c_str());
    return vernier::cli::exit_error;
  }
}
