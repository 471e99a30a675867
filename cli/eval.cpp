#include "cli/eval.h"

#include <memory>

#include "cli/command.h"

namespace vernier::cli {
namespace {

const std::vector<std::string> precisions = {"fp32", "fp16",  "int8",  "int16", "int4",
                                             "w8a8", "w8a16", "w4a16", "w16a16"};

void add_model_options(CLI::App& command, EvalOptions& options) {
  command
      .add_option("--mode", options.mode, "compare: candidate and reference on identical inputs")
      ->check(CLI::IsMember({"compare"}))
      ->capture_default_str();
  command
      .add_option("-m,--model", options.models,
                  "The candidate: .onnx file, folder of an export, or an id (see vernier export)")
      ->required()
      ->type_name("MODEL")
      ->allow_extra_args(false);
  command
      .add_option("--reference", options.reference,
                  "What to compare with: TorchScript .pt, .onnx, or recorded .npz")
      ->type_name("MODEL");
  command.add_option("--task", options.id.task, "What the model is for; shown in the report");
  command
      .add_option("--precision", options.precision, "Convert the candidate to this precision first")
      ->check(CLI::IsMember(precisions));
  command
      .add_option("--fail-if", options.fail_if,
                  "Exit 1 when METRIC>VALUE or OUTPUT:METRIC<VALUE holds; repeatable")
      ->type_name("LIMIT")
      ->allow_extra_args(false);
}

}  // namespace

void add_eval(CLI::App& program, int& exit_code) {
  const auto options = std::make_shared<EvalOptions>();
  auto* command = program.add_subcommand("eval", "Measure a converted model against its reference");
  add_model_options(*command, *options);
  add_model_id_options(*command, options->id);
  add_input_options(*command, options->input);
  add_runtime_options(*command, options->runtime);
  command
      ->add_option("--reference-ep,--reference-device", options->reference_runtime.provider,
                   "Execution provider of an ONNX reference")
      ->capture_default_str();
  command
      ->add_option("--reference-optimize", options->reference_runtime.optimize,
                   "Graph optimisation level of an ONNX reference")
      ->check(CLI::IsMember({"off", "basic", "extended", "all"}));
  add_output_options(*command, options->output);
  command->callback([options, &exit_code] { exit_code = run_compare(*options); });
}

}  // namespace vernier::cli
