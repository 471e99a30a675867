#include "cli/program.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <exception>
#include <filesystem>
#include <memory>
#include <new>

#include "cli/command.h"
#include "cli/files.h"
#include "cli/help.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/supervise.h"
#include "vernier/activity.h"
#include "vernier/error.h"
#include "vernier/report/number.h"
#include "vernier/runtime/ort_library.h"
#include "vernier/runtime/ort_runner.h"
#include "vernier/runtime/stopping.h"
#include "vernier/tensor/inflate_limit.h"
#include "vernier/version.h"

namespace vernier::cli {
namespace {

std::string version_text() {
  std::string text = fmt::format("vernier {}\n", version());
  try {
    text += fmt::format("onnxruntime {} ({})\n", onnxruntime_version(), onnxruntime_library());
  } catch (const Error& error) {
    text += fmt::format("{}\n", error.what());
  }
  if (!torch_version().empty()) text += fmt::format("libtorch {}\n", torch_version());
  text.pop_back();
  return text;
}

// Prints ONNX Runtime's messages on stderr: each once if verbose, else only their number, on a
// terminal.
void print_runtime_messages(bool verbose) {
  const std::vector<RuntimeMessage> messages = runtime_messages();
  if (verbose) {
    for (const auto& [text, count] : messages)
      print_message(fmt::format("onnxruntime: {}{}", text,
                                count > 1 ? fmt::format(" ({} times)", count) : ""));
  } else if (!messages.empty() && isatty(STDERR_FILENO) == 1) {
    std::int64_t all = 0;
    for (const RuntimeMessage& message : messages) all += message.count;
    print_message(
        fmt::format("onnxruntime: {}; --verbose shows them", format_count(all, "warning")));
  }
}

// Limits that the supervising process enforces, and the limit for compressed data.
void add_limits(CLI::App& command) {
  const auto keep = [](std::atomic<double> ActivityPage::*limit) {
    return [limit](const std::string& text) {
      if (ActivityPage* page = activity_page()) page->*limit = std::stod(text);
    };
  };
  OptionGroup group(command, "Runtime");
  group
      .each("--timeout", keep(&ActivityPage::timeout_seconds),
            "End the run, with exit code 2, when it is not done after so long", "SECONDS")
      ->check(above_zero());
  group
      .each("--memory-limit", keep(&ActivityPage::memory_gigabytes),
            "End the run, with exit code 2, when it takes more memory than this", "GB")
      ->check(above_zero());
  group
      .each(
          "--inflate-limit",
          [](const std::string& text) {
            set_inflate_limit(static_cast<std::int64_t>(std::stod(text) * 1e9));
          },
          "Refuse compressed data that would take more than this and a hundred times its file "
          "(default: 1.1)",
          "GB")
      ->check(above_zero());
}

int run_and_tell(int argc, char** argv) {
  try {
    return run_program(argc, argv);
  } catch (const Stopped& stopped) {
    print_error(stopped.what());
    return exit_interrupted;
  } catch (const std::bad_alloc&) {
    print_error(
        "[memory] not enough memory; use fewer --threads, a smaller --batch or --shape, or a "
        "machine with more memory");
  } catch (const Error& error) {
    print_error(error.what());
  } catch (const std::filesystem::filesystem_error& error) {
    print_error("[file] " + error.path1().string() + ": " + error.code().message());
  } catch (const std::exception& error) {
    print_error("[vernier] a fault in its own code (" + std::string(error.what()) +
                "); please report the command and the files that it was given");
  }
  return exit_error;
}

}  // namespace

int run_program(int argc, const char* const* argv) {
  CLI::App program{
      "Measures how far a converted neural network has drifted from what it was made from."};
  program.name("vernier");
  program.formatter(std::make_shared<HelpFormatter>());
  program.set_help_flag("-h,--help", "Show the options that are needed most");
  program.set_version_flag("--version", version_text,
                           "Show the versions of vernier and its runtimes");
  program.require_subcommand(1);

  int exit_code = exit_pass;
  for (const auto add : {add_diagnose, add_eval,     add_debug,  add_layers,    add_check,
                         add_diff,     add_inspect,  add_record, add_report,    add_merge,
                         add_score,    add_quantize, add_tune,   add_repair,    add_sweep,
                         add_zoo,      add_convert,  add_export, add_providers, add_completion})
    add(program, exit_code);
  bool verbose = false;
  for (CLI::App* command : subcommands(program)) {
    if (command->get_name() != "completion") add_limits(*command);
    command->set_help_all_flag("--help-all", "Show every option");
    for (CLI::App* task : subcommands(*command))
      task->set_help_all_flag("--help-all", "Show every option");
    if (command->get_option_no_throw("--ep") || command->get_name() == "providers")
      OptionGroup(*command, "Runtime")
          .each(
              "--onnxruntime", choose_ort_library,
              "ONNX Runtime's library, libonnxruntime.so (default: $VERNIER_ONNXRUNTIME, else that "
              "of the Python environment Vernier is installed into, else its own)",
              "FILE");
    if (command->get_option_no_throw("--ep"))
      OptionGroup(*command, "Output")
          .flag("--verbose", verbose, "Show what ONNX Runtime warned of, after the result");
  }
  program.parse_complete_callback([&program] {  // runs before the command's own callback
    const CLI::App* command = &program;
    while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
    require_separate_files(*command);
  });
  program.footer(
      "Example:\n  vernier eval model.int8.onnx --reference model.onnx\n\n"
      "'vernier COMMAND --help' shows the options of a command.\n");

  try {
    program.parse(argc, argv);
  } catch (const CLI::Success& help_or_version) {
    const int code = program.exit(help_or_version);
    require_written();
    return code;
  } catch (const CLI::ParseError& error) {
    throw Error(explain_usage_error(program, error));
  }
  require_written();
  print_runtime_messages(verbose);
  return exit_code;
}

int run_program(const std::vector<std::string>& arguments, const Session& session) {
  const SessionScope scope(session);
  return run_program(arguments);
}

int run_program(const std::vector<std::string>& arguments) {
  std::vector<const char*> argv = {"vernier"};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  return run_program(static_cast<int>(argv.size()), argv.data());
}

int supervised_program(int argc, char** argv) {
  try {
    remember_command_line({argv, static_cast<std::size_t>(argc)});
    return supervise(argc, argv, run_and_tell);
  } catch (const std::exception& error) {
    print_error(error.what());
    return exit_error;
  }
}

}  // namespace vernier::cli
