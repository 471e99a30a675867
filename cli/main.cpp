#include <cstdio>
#include <exception>

#include "cli/program.h"

int main(int argc, char** argv) {
  try {
    return vernier::cli::run_program(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "vernier: %s\n", error.what());
    return vernier::cli::exit_error;
  }
}
