#include "cli/runtime_options.h"
#include "cli/validators.h"

#include <fmt/format.h>

#include "vernier/error.h"

namespace vernier::cli {
namespace {

const std::map<std::string, Optimization> optimizations = {{"off", Optimization::disabled},
                                                           {"basic", Optimization::basic},
                                                           {"extended", Optimization::extended},
                                                           {"all", Optimization::all}};

std::map<std::string, std::string> parse_provider_options(const std::vector<std::string>& texts) {
  std::map<std::string, std::string> options;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos)
      throw Error(fmt::format("[runtime] --ep-option {}: expected KEY=VALUE", text));
    options[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return options;
}

}  // namespace

void add_runtime_options(CLI::App& command, RuntimeOptions& options) {
  const std::string group = "Runtime";
  command.add_option("--ep", options.provider, "Execution provider of ONNX Runtime")
      ->capture_default_str()
      ->type_name("NAME")
      ->group(group);
  command
      .add_option("--ep-option", options.provider_options,
                  "Option of the execution provider; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false)
      ->group(group);
  command
      .add_option("--optimize", options.optimize,
                  "Graph optimisation level (off while intermediate tensors are watched, else all)")
      ->check(CLI::IsMember({"off", "basic", "extended", "all"}))
      ->group(group);
  command
      .add_flag(
          "--exact", options.exact,
          "Integer products as the model says, whatever the CPU: no kernel that saturates, no "
          "optimisation between quantizers")
      ->group(group);
  command.add_option("--threads", options.threads, "Threads (0: as many as there are cores)")
      ->check(at_least(0))
      ->capture_default_str()
      ->type_name("N")
      ->group(group);
}

RunnerOptions runner_options(const RuntimeOptions& options) {
  RunnerOptions runner;
  runner.onnx.provider = options.provider;
  runner.onnx.provider_options = parse_provider_options(options.provider_options);
  if (!options.optimize.empty()) runner.onnx.optimization = optimizations.at(options.optimize);
  runner.onnx.exact = options.exact;
  runner.onnx.threads = options.threads;
  runner.torch.threads = options.threads;
  return runner;
}

}  // namespace vernier::cli
