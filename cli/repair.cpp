#include "vernier/analysis/quantize/repair.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/quantize.h"
#include "vernier/error.h"
#include "vernier/report/quantize.h"
#include "vernier/report/repair.h"

namespace vernier::cli {
namespace {

namespace fs = std::filesystem;

struct RepairCommand {
  std::string model, reference;
  fs::path repaired;
  bool tune = false;
  std::string target = "any";
  CalibrationInput input;
  int threads = 0;
  OutputOptions output;
};

int run_repair(RepairCommand& options) {
  require_model_writable(options.repaired);
  require_writable(options.output);
  const ModelIndex candidate(Model::load(options.model));
  const ModelIndex reference(Model::load(options.reference));
  const CalibrationData data = calibration_data(candidate.model(), options.input);
  if (!data.inputs.samples)
    throw Error(
        fmt::format("[repair] {}: repair needs data to prove a gain; pass --data or --dataset",
                    candidate.model().name()));
  print_warnings(data.inputs.warnings);
  RepairOptions repairing{.effort = options.tune ? Effort::tune : Effort::normal,
                          .target = parse_target_cpu(options.target),
                          .threads = options.threads};
  RepairResult result = with_progress("repairing", repairing.progress, [&] {
    return repair(candidate, reference, *data.inputs.samples, repairing);
  });
  result.warnings = with_doubts(data, std::move(result.warnings));
  if (result.model) result.model->save(options.repaired);
  const RepairSubject subject{.run = {.command = "repair",
                                      .candidate = fs::path(options.model).filename(),
                                      .reference = fs::path(options.reference).filename(),
                                      .precision = "int8",
                                      .device = "cpu",
                                      .inputs = data.inputs.description,
                                      .samples = data.inputs.samples->size(),
                                      .settings = {{"target_cpu", options.target}},
                                      .interrupted = result.interrupted,
                                      .runtimes = {.onnxruntime = true}},
                              .file = options.repaired.filename()};
  write_result(options.output, describe_repair(subject, result),
               [&] { return repair_json(subject, result); });
  return exit_code(result.verdict, result.interrupted);
}

}  // namespace

void add_repair(CLI::App& program, int& exit_code) {
  const auto options = std::make_shared<RepairCommand>();
  auto* command = program.add_subcommand(
      "repair", "Write better scales, weights and biases into a quantized model");
  OptionGroup main(*command, main_group);
  main.add("MODEL,-m,--model,--candidate", options->model, "The quantized .onnx model (Q-DQ)",
           "MODEL")
      ->required();
  main.add("REFERENCE,--reference", options->reference, "The float .onnx model it was made from",
           "MODEL")
      ->required();
  main.add("-o,--output", options->repaired,
           "Where to write the repaired model; not written when nothing is gained", "OUT.onnx")
      ->required();
  add_calibration_options(*command, options->input);
  main.flag("--tune", options->tune, "Try every tensor until nothing is gained");
  add_target_option(main, options->target);
  add_threads_option(*command, options->threads);
  add_quantize_output_options(*command, options->output);
  command->footer(
      "Example:\n  vernier repair model.int8.onnx --reference model.onnx --data calibration.npz -o "
      "better.int8.onnx\n");
  command->callback([options, &exit_code] { exit_code = run_repair(*options); });
}

}  // namespace vernier::cli
