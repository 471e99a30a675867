#include "vernier/analysis/debug/debug.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "cli/command.h"
#include "cli/input_options.h"
#include "cli/model_options.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/parts.h"
#include "cli/progress.h"
#include "vernier/analysis/compare/compare_models.h"
#include "vernier/analysis/debug/inputs.h"
#include "vernier/analysis/quantize/tune.h"
#include "vernier/error.h"
#include "vernier/exporting/tokenizer.h"
#include "vernier/model/precision.h"
#include "vernier/report/command_line.h"
#include "vernier/report/debug.h"
#include "vernier/report/detail.h"
#include "vernier/report/graph_json.h"

namespace vernier::cli {
namespace {

struct DebugCommand {
  ModelOptions models;
  InputSpec input{.default_samples = default_debug_samples};
  TextInput text;
  IoMapping io;
  std::string model_id;  // its preprocessing is used; if empty, the file next to the model
  RuntimeOptions runtime;
  OutputOptions output;
  PartOptions parts;
  std::vector<std::string> fail_if;
  BaselineOptions baseline;
  bool no_weights = false;
  bool quick = false;
  bool explain_flips = false;
  std::optional<std::int64_t> advice_samples;  // nullopt means 32, or by tokens for a decoder
  double low_db = 20;
  double good_db = 40;
  int top = 10;
};

Model load_reference(const std::filesystem::path& path) {
  if (model_format(path) == ModelFormat::onnx) return Model::load(path);
  throw Error(fmt::format(
      "[debug] {}: the reference must be the .onnx model that was quantized; to compare with "
      "another format use vernier layers",
      path.string()));
}

int run_debug(DebugCommand& options) {
  require_writable(options.output);
  if (!(options.low_db <= options.good_db))
    throw Error(fmt::format("[debug] --low-db {:g}: is above --good-db {:g}; exchange them",
                            options.low_db, options.good_db));
  DebugOptions debug_options{
      .low_db = options.low_db,
      .weight_evidence = !options.no_weights,
      .switches = !options.quick,
      .advice_samples = options.advice_samples,
      .explain_flips = options.explain_flips,
      .limits = limits_in_force(options.fail_if, options.baseline, debug_limit_metrics()),
      .runtime = runner_options(options.runtime).onnx,
      .io = options.io};
  const ResolvedModel resolved = resolve_model_argument(options.models.models, options.models.id);
  const auto reference_path = resolve_reference(options.models.reference, resolved);
  const ModelIndex reference(load_reference(reference_path));
  const ModelIndex candidate(load_candidate(resolved.model));
  if (!options.model_id.empty())
    options.input.dataset.preprocessing.file =
        preprocessing_of_model(options.model_id, options.models.id);
  read_text_input(options.text, resolved.model, options.models.id.python, options.input);
  const DebugInputs made = debug_inputs(reference, candidate, options.input, debug_options);
  const Inputs& inputs = made.measured;
  print_warnings(inputs.warnings);
  DetailRecord detail;
  debug_options.show_pair = detail_recorder(options.output, detail);
  const std::int64_t samples = inputs.samples->size();
  Measured measured{.candidate = resolved.model,
                    .reference = reference_path,
                    .candidate_model = &candidate.model(),
                    .reference_model = &reference.model(),
                    .inputs = inputs.description,
                    .samples = inputs.samples.get(),
                    .sections = {{debug_section, samples}}};
  if (judges_outputs(debug_options))
    measured.sections[compare_section] = samples / options.io.steps;
  MeasuredParts parts(options.parts, options.output, measured);
  debug_options.records = parts.records();
  const DebugResult result = with_progress("debugging", debug_options.progress, [&] {
    return debug(reference, candidate, *inputs.samples, debug_options);
  });
  if (parts.is_part()) return parts.write();

  DebugSubject subject{.run = describe_run("debug", resolved, reference_path, options.runtime),
                       .low_db = options.low_db,
                       .good_db = options.good_db,
                       .top = options.top};
  subject.run.precision = precision_name(candidate.model());
  if (const FloatSet* kept = result.sensitivity ? set_to_keep(*result.sensitivity) : nullptr;
      kept && can_keep_nodes(candidate, reference, kept->nodes))
    subject.keep_command =
        keep_command(subject.run.candidate, reference_path.filename().string(), kept->nodes);
  if (result.run_map && !options.text.tokenizer.empty()) {
    std::vector<std::vector<std::int64_t>> lists;
    for (const std::int64_t id : result.run_map->tokens) lists.push_back({id});
    subject.tokens = Tokenizer(options.text.tokenizer, options.models.id.python).decode(lists);
  }
  subject.run.inputs = inputs.description;
  subject.run.samples = result.samples;
  if (!options.runtime.exact)  // debug computes exactly whether asked to or not
    subject.run.settings.emplace_back("arithmetic", std::string("exact"));
  subject.run.settings.emplace_back("low_db", options.low_db);
  subject.run.settings.emplace_back("good_db", options.good_db);
  describe_io(options.io, subject.run);
  describe_placement(subject.run, candidate.model(), options.runtime, *inputs.samples);
  subject.run.interrupted = result.interrupted;
  write_result(
      options.output, describe_debug(subject, result), [&] { return debug_json(subject, result); },
      {.graph = [&] { return graph_json(candidate); },
       .detail = [&] { return detail_json(detail, result, parse_detail(options.output.detail)); }});
  update_baseline(options.baseline, result);
  return exit_code(result.verdict, result.interrupted);
}

}  // namespace

void add_debug(CLI::App& program, int& exit_code) {
  const auto options = std::make_shared<DebugCommand>();
  auto* command =
      program.add_subcommand("debug", "Find tensors and weights that quantization damaged");
  add_model_options(*command, options->models, "The quantized model: .onnx file, folder or id",
                    ",--candidate,--quant-model", ",--float-model")
      ->required();
  add_limit_options(*command, options->fail_if,
                    "Fail when [NAME:]METRIC<VALUE holds, as in 'output:cumulative<30'; "
                    "repeatable");
  add_baseline_options(*command, options->baseline);
  add_input_options(*command, options->input);
  add_text_options(*command, options->text);
  add_token_places(*command, options->input);
  add_io_options(*command, options->io);
  OptionGroup report(*command, "Report");
  report.add("--top", options->top, "Rows of each table of the worst", "N")->check(at_least(1));
  report.add("--low-db", options->low_db, "SQNR below which a tensor counts as damaged", "DB");
  report.add("--good-db", options->good_db, "SQNR above which a tensor is shown green", "DB");
  report.flag("--no-weights", options->no_weights,
              "Do not compare the weights of the two models as evidence");
  OptionGroup advice(*command, "Advice");
  auto* quick =
      advice.flag("--quick", options->quick,
                  "Skip the runs with quantizers off, and so the ranking of nodes and the "
                  "advice");
  advice
      .add("--advice-samples", options->advice_samples,
           "Samples to choose advice on; as many more verify it (default: 32; of a decoder, "
           "sequences of 1024 tokens in all, and of 4096)",
           "N")
      ->check(at_least(1));
  advice
      .flag("--explain-flips", options->explain_flips,
            "Find the nodes that change a sample's answer, the largest element of the output")
      ->excludes(quick);
  OptionGroup(*command, "Dataset")
      .add("--model-id", options->model_id,
           "Prepare images as this model wants them: a folder, an id in the Hugging Face cache, "
           "or an id that vernier export takes",
           "ID")
      ->needs("--dataset")
      ->excludes("--preprocess");
  add_model_id_options(*command, options->models.id);
  add_runtime_options(*command, options->runtime);
  add_part_options(*command, options->parts);
  add_detail_option(*command, options->output);
  add_output_options(*command, options->output);
  command->footer("Example:\n  vernier debug model.int8.onnx --reference model.onnx\n");
  command->callback([options, &exit_code] { exit_code = run_debug(*options); });
}

}  // namespace vernier::cli
