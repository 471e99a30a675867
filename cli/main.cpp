#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "cli/command.h"
#include "vernier/version.h"

namespace vernier::cli {
namespace {

std::string version_text() {
  std::string text = fmt::format("vernier {}\nonnxruntime {}\n", version(), onnxruntime_version());
  if (!torch_version().empty()) text += fmt::format("libtorch {}\n", torch_version());
  text.pop_back();
  return text;
}

int run(int argc, char** argv) {
  CLI::App program{
      "Measures how far a converted neural network has drifted from what it was made from."};
  program.name("vernier");
  program.set_version_flag("--version", version_text);
  program.require_subcommand(1);
  program.footer(
      "Example:\n  vernier diff reference.npz candidate.npz --fail-if 'max_abs_diff>1e-3'\n");

  int exit_code = exit_pass;
  add_diff(program, exit_code);

  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return program.exit(error) == 0 ? exit_pass : exit_error;
  }
  return exit_code;
}

}  // namespace
}  // namespace vernier::cli

int main(int argc, char** argv) {
  try {
    return vernier::cli::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "vernier: %s\n", error.what());
    return vernier::cli::exit_error;
  }
}
