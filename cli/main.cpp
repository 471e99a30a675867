#include <cstdio>
#include <exception>
#include <new>

#include "cli/output.h"
#include "cli/program.h"
#include "cli/supervise.h"
#include "vernier/runtime/stopping.h"

int main(int argc, char** argv) {
  const auto run = [](int count, char** arguments) {
    try {
      return vernier::cli::run_program(count, arguments);
    } catch (const vernier::Stopped& stopped) {
      vernier::cli::print_error(stopped.what());
      return vernier::cli::exit_interrupted;
    } catch (const std::bad_alloc&) {
      vernier::cli::print_error(
          "[memory] not enough memory; use fewer --threads, a smaller --batch or --shape, or a "
          "machine with more memory");
    } catch (const std::exception& error) {
      vernier::cli::print_error(error.what());
    }
    return vernier::cli::exit_error;
  };
  try {
    vernier::cli::remember_command_line({argv, static_cast<std::size_t>(argc)});
    return vernier::cli::supervise(argc, argv, run);
  } catch (const std::exception& error) {
    vernier::cli::print_error(error.what());
    return vernier::cli::exit_error;
  }
}
