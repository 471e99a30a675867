#include "vernier/analysis/debug/debug.h"

#include <filesystem>
#include <functional>
#include <memory>

#include "cli/command.h"
#include "cli/input_options.h"
#include "cli/model_argument.h"
#include "cli/output_options.h"
#include "cli/progress.h"
#include "cli/runtime_options.h"
#include "cli/validators.h"
#include "vernier/report/debug.h"

namespace vernier::cli {
namespace {

struct Options {
  std::filesystem::path float_model;
  std::filesystem::path quantized_model;
  InputOptions input{.default_samples = 8};
  std::string model_id;  // whose preprocessing is taken; empty: what lies beside the model
  ModelIdOptions id;
  RuntimeOptions runtime;
  OutputOptions output;
  std::vector<std::string> fail_if;
  double low_db = 20;
  double good_db = 40;
  int top = 10;
};

InputOptions input_options(const Options& options) {
  InputOptions input = options.input;
  if (!options.model_id.empty())
    input.dataset.preprocess = preprocessing_of_model(options.model_id, options.id);
  return input;
}

int run(const Options& options) {
  require_writable(options.output);
  DebugOptions debug_options{.low_db = options.low_db,
                             .limits = parse_limits(options.fail_if, debug_limit_metrics()),
                             .runtime = runner_options(options.runtime).onnx};
  const Model float_model = Model::load(options.float_model);
  const Model quantized_model = Model::load(options.quantized_model);
  Inputs inputs =
      make_inputs(input_options(options), quantized_model.inputs(), options.quantized_model);
  print_warnings(inputs.warnings);
  ProgressBar progress("debugging");
  debug_options.progress = std::ref(progress);
  const DebugResult result = debug(float_model, quantized_model, *inputs.samples, debug_options);

  const DebugSubject subject{.float_model = options.float_model.filename(),
                             .quantized_model = options.quantized_model.filename(),
                             .inputs = inputs.description,
                             .low_db = options.low_db,
                             .good_db = options.good_db,
                             .top = options.top,
                             .limits = debug_options.limits};
  write_result(options.output, describe_debug(subject, result),
               [&] { return debug_json(subject, result); });
  return exit_code(result.verdict, result.interrupted);
}

}  // namespace

void add_debug(CLI::App& program, int& exit_code) {
  const auto options = std::make_shared<Options>();
  auto* command =
      program.add_subcommand("debug", "Find the tensors and weights that quantization damaged");
  command->add_option("--float-model", options->float_model, "The model before quantization")
      ->required()
      ->type_name("F.onnx");
  command->add_option("--quant-model", options->quantized_model, "The quantized model")
      ->required()
      ->type_name("Q.onnx");
  add_input_options(*command, options->input);
  command
      ->add_option("--model-id", options->model_id,
                   "Prepare the images of --dataset as this model wants them: a folder, an id in "
                   "the Hugging Face cache, or an id that vernier export takes")
      ->needs("--dataset")
      ->excludes("--preprocess")
      ->type_name("ID");
  command->add_option("--task", options->id.task, "What --model-id is for")
      ->needs("--model-id")
      ->type_name("TASK");
  add_model_id_options(*command, options->id);
  add_runtime_options(*command, options->runtime);
  command
      ->add_option("--fail-if", options->fail_if,
                   "Exit 1 when [NAME:]METRIC<VALUE holds: 'output:cumulative<30'; repeatable")
      ->type_name("LIMIT")
      ->allow_extra_args(false);
  command->add_option("--low-db", options->low_db, "SQNR below which a tensor counts as damaged")
      ->capture_default_str();
  command->add_option("--good-db", options->good_db, "SQNR above which a tensor is shown green")
      ->capture_default_str();
  command->add_option("--top", options->top, "Rows of each table of the worst")
      ->check(at_least(1))
      ->capture_default_str();
  add_output_options(*command, options->output);
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace vernier::cli
