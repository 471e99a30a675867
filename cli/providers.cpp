#include <fmt/format.h>

#include "cli/command.h"
#include "vernier/runtime/ort_options.h"
#include "vernier/version.h"

namespace vernier::cli {

void add_providers(CLI::App& program, int& exit_code) {
  CLI::App* command = program.add_subcommand(
      "providers", "List the execution providers of the ONNX Runtime that models run on");
  command->footer("Example:\n  vernier providers\n");
  command->callback([&exit_code] {
    fmt::print("onnxruntime {} ({})\n", onnxruntime_version(), onnxruntime_library());
    for (const std::string& provider : available_providers()) fmt::print("{}\n", provider);
    exit_code = exit_pass;
  });
}

}  // namespace vernier::cli
