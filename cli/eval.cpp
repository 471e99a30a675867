#include "cli/eval.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "cli/command.h"
#include "cli/evaluation_options.h"
#include "cli/validators.h"
#include "vernier/analysis/task/task.h"
#include "vernier/error.h"

namespace vernier::cli {
namespace {

constexpr const char* task_group = "Tasks";
const std::vector<std::string> precisions = {"fp32", "fp16",  "int8",  "int16", "int4",
                                             "w8a8", "w8a16", "w4a16", "w16a16"};

void add_model_options(CLI::App& command, EvalOptions& options) {
  command
      .add_option("--mode", options.mode,
                  "compare: candidate and reference on identical inputs; task: how well they do a "
                  "task (with --task the default); reference: the same, of one reference alone")
      ->check(CLI::IsMember({"compare", "task", "reference"}));
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
  command
      .add_option("--task", options.id.task,
                  fmt::format("What the model is for. Scored, on a --dataset, can be {}",
                              fmt::join(task_names(), ", ")))
      ->type_name("TASK");
  command
      .add_option("--precision", options.precision, "Convert the candidate to this precision first")
      ->check(CLI::IsMember(precisions));
  command
      .add_option("--fail-if", options.fail_if,
                  "Exit 1 when METRIC>VALUE or OUTPUT:METRIC<VALUE holds; repeatable")
      ->type_name("LIMIT")
      ->allow_extra_args(false);
  command.add_flag("--allow-missing", options.allow_missing,
                   "--mode compare: an output that only the reference has does not fail");
}

void add_task_options(CLI::App& command, EvalOptions& options) {
  command.option_defaults()->group(task_group);
  add_judgement_options(command, options.evaluate);
  command
      .add_option("--k", options.k,
                  "image-feature-extraction: neighbours that vote (10); image-classification: the "
                  "label is among the K best (5)")
      ->check(at_least(1));
  add_embedding_options(command, options.knn, options.pooling);
  command
      .add_option("--bank-split", options.bank_split,
                  "Search the embeddings of this split, as train, instead of the samples' own")
      ->needs("--dataset")
      ->type_name("NAME");
  command
      .add_option("--ignore-label", options.ignored_label,
                  "Leave out pixels or tokens with this label")
      ->type_name("LABEL");
  command.add_flag("--timings", options.timings, "Say on stderr where the time went");
  command.option_defaults()->group("Options");
}

// Options of one mode that another would pass over in silence.
void refuse_options_of_other_modes(const CLI::App& command, const std::string& mode) {
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name();
    const bool draws_inputs =
        option->get_group() == "Inputs" && name != "--samples" && name != "--seed";
    const bool unused = mode == "compare" ? option->get_group() == task_group : draws_inputs;
    if (unused && option->count() > 0)
      throw Error(fmt::format("[eval] {} does not go with --mode {}; leave one out", name, mode));
  }
}

}  // namespace

RuntimeOptions reference_runtime(const EvalOptions& options) {
  RuntimeOptions runtime = options.reference_runtime;
  runtime.threads = options.runtime.threads;
  return runtime;
}

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
  add_task_options(*command, *options);
  add_label_options(*command, options->input.dataset);
  add_output_options(*command, options->output);
  command->callback([options, command, &exit_code] {
    if (options->mode.empty()) options->mode = options->id.task.empty() ? "compare" : "task";
    refuse_options_of_other_modes(*command, options->mode);
    exit_code = options->mode == "compare" ? run_compare(*options) : run_task(*options);
  });
}

}  // namespace vernier::cli
