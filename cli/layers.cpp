#include "vernier/analysis/layers/layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include <filesystem>
#include <memory>
#include <optional>

#include "cli/command.h"
#include "cli/input_options.h"
#include "cli/model_options.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/parts.h"
#include "cli/progress.h"
#include "vernier/analysis/compare/compare.h"
#include "vernier/analysis/layers/inputs.h"
#include "vernier/error.h"
#include "vernier/report/detail.h"
#include "vernier/report/graph_json.h"
#include "vernier/report/layers.h"

namespace vernier::cli {
namespace {

namespace fs = std::filesystem;

struct LayersCommand {
  ModelOptions models;
  std::optional<double> tolerance;
  std::string truth;
  bool no_weights = false;
  int around = 3;
  int top = 10;
  InputSpec input{.default_distribution = Distribution::normal};
  TextInput text;
  IoMapping io;
  RuntimeOptions runtime;
  OutputOptions output;
  PartOptions parts;
};

// The result and the description of its inputs.
struct Validated {
  LayersResult result;
  std::string inputs = "recorded";
  std::string graph = {};        // of the candidate, for an HTML page
  std::optional<int> part = {};  // the exit code if only a part was measured
  RunDescription run = {};       // only the facts about the candidate's runtime
};

Validated validate_recorded(const LayersCommand& options, const fs::path& candidate,
                            const LayersOptions& layers) {
  if (model_format(layers.reference) != ModelFormat::recorded)
    throw Error(fmt::format(
        "[layers] {}: recorded tensors of the candidate are compared with recorded ones; record "
        "the reference's with 'vernier record --tensors leaves'",
        layers.reference.string()));
  refuse_parts(options.parts);
  return {validate_recorded_layers(candidate, layers)};
}

Validated validate(const LayersCommand& options, const fs::path& path, LayersOptions layers) {
  const ModelIndex candidate(load_candidate(path));
  const auto reference = index_if_onnx(layers.reference);
  layers.reference_model = reference.get();
  Inputs inputs = layers_inputs(candidate, options.input, layers);
  print_warnings(inputs.warnings);
  Measured measured{.candidate = path,
                    .reference = layers.reference,
                    .candidate_model = &candidate.model(),
                    .reference_model = reference ? &reference->model() : nullptr,
                    .inputs = inputs.description,
                    .samples = inputs.samples.get(),
                    .sections = {{layers_section, inputs.samples->size()}}};
  if (judges_outputs(candidate.model(), layers))
    measured.sections[compare_section] = inputs.samples->size() / layers.io.steps;
  MeasuredParts parts(options.parts, options.output, measured);
  layers.records = parts.records();
  Validated validated{
      with_progress("validating", layers.progress,
                    [&] { return validate_layers(candidate, *inputs.samples, layers); }),
      inputs.description};
  if (parts.is_part()) validated.part = parts.write();
  if (shows_graph(options.output)) validated.graph = graph_json(candidate);
  describe_placement(validated.run, candidate.model(), options.runtime, *inputs.samples);
  return validated;
}

int run_layers(LayersCommand& options) {
  require_writable(options.output);
  const ResolvedModel resolved = resolve_model_argument(options.models.models, options.models.id);
  read_text_input(options.text, resolved.model, options.models.id.python, options.input);
  if (options.models.host.watch == HostWatch::operators &&
      !is_host_source(resolve_reference(options.models, resolved).string()))
    throw Error("[layers] --ops: the reference is no PyTorch model; leave it out");
  const bool recorded = model_format(resolved.model) == ModelFormat::recorded;
  DetailRecord detail;
  const LayersOptions layers{.reference = resolve_reference(options.models, resolved),
                             .host = host_options(options.models, resolved),
                             .tolerance = options.tolerance,
                             .truth = !options.truth.empty(),
                             .weight_evidence = !options.no_weights,
                             .real_inputs = has_real_inputs(options.input),
                             .io = options.io,
                             .runtime = runner_options(options.runtime).onnx,
                             .show_pair = detail_recorder(options.output, detail)};
  const Validated validated = recorded ? validate_recorded(options, resolved.model, layers)
                                       : validate(options, resolved.model, layers);
  if (validated.part) return *validated.part;
  const LayersResult& result = validated.result;
  LayersSubject subject{.run = describe_run("layers", resolved, layers.reference, options.runtime),
                        .tolerance = options.tolerance.value_or(default_tolerance),
                        .around = options.around,
                        .top = options.top};
  subject.run.inputs = validated.inputs;
  subject.run.samples = result.samples;
  describe_io(options.io, subject.run);
  std::ranges::copy(validated.run.settings, std::back_inserter(subject.run.settings));
  subject.run.interrupted = result.interrupted;
  describe_host(subject.run, result.versions);
  const bool full = output_format(options.output) == "md";
  write_result(
      options.output, describe_layers(subject, result, full),
      [&] { return layers_json(subject, result); },
      {.graph = [&] { return validated.graph; },
       .detail = [&] { return detail_json(detail, result, parse_detail(options.output.detail)); }});
  return exit_code(result.verdict, result.interrupted);
}

}  // namespace

void add_layers(CLI::App& program, int& exit_code) {
  const auto options = std::make_shared<LayersCommand>();
  auto* command = program.add_subcommand(
      "layers", "Find the layer at which an exported model starts to differ, and why");
  add_model_options(*command, options->models,
                    "The exported model: .onnx file, folder or id; or tensors recorded from it",
                    ",--candidate")
      ->required();
  OptionGroup main(*command, main_group);
  main.add("--tolerance,--atol", options->tolerance,
           "A layer exceeds when its max_abs_diff is greater (default: 1e-4, or what rounding "
           "explains)",
           "T")
      ->check(from_zero());
  add_input_options(*command, options->input);
  add_text_options(*command, options->text);
  add_token_places(*command, options->input);
  add_io_options(*command, options->io);
  OptionGroup report(*command, "Report");
  report.choice("--truth", options->truth,
                "Run the reference in this precision as well, and measure both against it",
                {"fp64"});
  report.flag("--no-weights", options->no_weights,
              "Do not compare the weights of the two models as evidence");
  report.add("--around", options->around, "Rows shown before and after the origin", "N")
      ->check(at_least(0));
  report.add("--top", options->top, "Rows of the table of the worst", "N")->check(at_least(1));
  add_runtime_options(*command, options->runtime);
  add_model_id_options(*command, options->models.id);
  add_host_options(*command, options->models);
  add_operators_option(*command, options->models.host);
  OptionGroup host(*command, "Models by id");
  host.flag("--open-attention", options->models.host.open_attention,
            "Of a PyTorch model: run fused attention operator by operator");
  add_part_options(*command, options->parts);
  add_detail_option(*command, options->output);
  add_output_options(*command, options->output);
  command->footer("Example:\n  vernier layers model.onnx --reference model.pt\n");
  command->callback([options, &exit_code] { exit_code = run_layers(*options); });
}

}  // namespace vernier::cli
