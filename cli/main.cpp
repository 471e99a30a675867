#include <cstdio>
#include <exception>

#include "cli/output.h"
#include "cli/program.h"

int main(int argc, char** argv) {
  try {
    vernier::cli::remember_command_line({argv, static_cast<std::size_t>(argc)});
    return vernier::cli::run_program(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "vernier: %s\n", error.what());
    return vernier::cli::exit_error;
  }
}
