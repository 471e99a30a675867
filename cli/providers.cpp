#include <fmt/format.h>

#include "cli/command.h"
#include "vernier/runtime/ort_options.h"
#include "vernier/version.h"

namespace vernier::cli {

void add_providers(CLI::App& program, int& exit_code) {
  CLI::App* command =
      program.add_subcommand("providers", "List the execution providers of ONNX Runtime");
  command->footer("Example:\n  vernier providers\n");
  command->callback([&exit_code] {
    fmt::print("onnxruntime {} ({})\n", onnxruntime_version(), onnxruntime_library());
    for (const std::string& provider : available_providers())
      fmt::print("{}{}\n", provider,
                 can_be_used(provider) ? "" : " (in this build, but cannot be loaded here)");
    exit_code = exit_pass;
  });
}

}  // namespace vernier::cli
