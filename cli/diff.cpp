#include "cli/command.h"

namespace vernier::cli {

void add_diff(CLI::App& program, int& exit_code) {
  auto* command = program.add_subcommand("diff", "Compare the arrays of two .npy or .npz files");
  command->callback([&exit_code] { exit_code = exit_pass; });
}

}  // namespace vernier::cli
