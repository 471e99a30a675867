#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "cli/command.h"
#include "vernier/error.h"
#include "vernier/version.h"

namespace vernier::cli {
namespace {

std::string version_text() {
  std::string text = fmt::format("vernier {}\nonnxruntime {}\n", version(), onnxruntime_version());
  if (!torch_version().empty()) text += fmt::format("libtorch {}\n", torch_version());
  text.pop_back();
  return text;
}

// "diff " for the command that was being parsed, nothing before one was named.
std::string command_of(const CLI::App& program) {
  const auto commands = program.get_subcommands();
  return commands.empty() ? "" : commands.front()->get_name() + " ";
}

int run(int argc, char** argv) {
  CLI::App program{
      "Measures how far a converted neural network has drifted from what it was made from."};
  program.name("vernier");
  program.set_version_flag("--version", version_text);
  program.require_subcommand(1);

  int exit_code = exit_pass;
  add_check(program, exit_code);
  add_convert(program, exit_code);
  add_debug(program, exit_code);
  add_diff(program, exit_code);
  add_eval(program, exit_code);
  add_export(program, exit_code);
  add_inspect(program, exit_code);
  add_layers(program, exit_code);
  add_record(program, exit_code);
  add_score(program, exit_code);
  // After the commands, which would inherit it.
  program.footer(
      "Example:\n  vernier diff reference.npz candidate.npz --fail-if 'max_abs_diff>1e-3'\n");

  try {
    program.parse(argc, argv);
  } catch (const CLI::Success& help_or_version) {
    return program.exit(help_or_version);
  } catch (const CLI::ParseError& error) {
    throw Error(fmt::format("{}; see 'vernier {}--help'", error.what(), command_of(program)));
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
