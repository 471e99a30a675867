#include "vernier/analysis/quantize/tune.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "cli/command.h"
#include "cli/model_options.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/quantize.h"
#include "vernier/error.h"
#include "vernier/model/precision.h"
#include "vernier/report/number.h"
#include "vernier/report/tune.h"

namespace vernier::cli {
namespace {

namespace fs = std::filesystem;

struct TuneCommand {
  QuantizeCommand quantize;
  std::string reference;  // of an already quantized model
  std::string target, cost = "nodes", fallback;
  std::vector<std::string> keep;  // nodes of an already quantized model
};

TuneFallback fallback_of(const TuneCommand& options) {
  const bool blocks = parse_quantized_precision(options.quantize.precision).weight_bits == 4;
  if (options.fallback == "8" && !blocks)
    throw Error("[tune] --fallback 8: weights have 8 bits already; pass --precision int4");
  if (options.fallback == "8" || (options.fallback.empty() && blocks))
    return TuneFallback::weights8;
  return options.fallback == "16" ? TuneFallback::bits16 : TuneFallback::floating;
}

TuneResult tune_model(const Model& model, Samples& samples, const TuneCommand& options,
                      SampleRecords* records, Progress progress) {
  const Limit target = parse_target(options.target);
  const TuneCost cost = parse_tune_cost(options.cost);
  if (!options.reference.empty())
    return tune_shipped(ModelIndex(model), ModelIndex(Model::load(options.reference)), samples,
                        {.target = target,
                         .cost = cost,
                         .threads = options.quantize.threads,
                         .records = records,
                         .progress = std::move(progress)});
  require_blocks(options.quantize, {&options.quantize.precision, 1});
  TuneOptions analysis{.quantize = quantize_options(options.quantize),
                       .target = target,
                       .cost = cost,
                       .fallback = fallback_of(options)};
  analysis.quantize.records = records;
  analysis.quantize.progress = std::move(progress);
  return tune(model, samples, analysis);
}

RunDescription describe_run(const TuneCommand& options, const CalibrationData& data,
                            const TuneResult& result) {
  RunDescription run = quantize_run("tune", options.quantize, data);
  if (!options.reference.empty()) {
    run.reference = fs::path(options.reference).filename();
    run.settings = {{"model", fs::path(options.quantize.model).filename()}};
  }
  run.settings.emplace_back("target", options.target);
  run.interrupted = result.interrupted;
  return run;
}

// Keeps the given nodes in float without a search, as `debug` advises.
int keep(const TuneCommand& options) {
  const QuantizeCommand& command = options.quantize;
  if (options.reference.empty())
    throw Error(
        "[tune] --keep: is of a model that is quantized already; give --reference, or pass "
        "--keep-float to vernier quantize");
  keep_nodes(ModelIndex(Model::load(command.model)), ModelIndex(Model::load(options.reference)),
             options.keep)
      .save(command.quantized);
  fmt::print("{}: {} kept in float\n", command.quantized.string(),
             format_count(std::ssize(options.keep), "node"));
  return exit_pass;
}

int run_tune(TuneCommand& options) {
  QuantizeCommand& command = options.quantize;
  require_model_writable(command.quantized);
  require_writable(command.output);
  if (!options.keep.empty()) return keep(options);
  if (options.target.empty())
    throw Error("[tune] --target: what is to be reached? Give it, as in 'sqnr_db>30', or --keep");
  parse_target(options.target);
  const Model model = Model::load(command.model);
  if (options.reference.empty() && precision_of(model) == Precision::int8)
    throw Error(fmt::format(
        "[tune] {}: is quantized already; give --reference, the float model it was made from",
        model.name()));
  const CalibrationData data = calibration_data(model, command.input);
  if (!data.inputs.samples)
    throw Error(fmt::format("[tune] {}: a target is reached on data; give --data or --dataset",
                            model.name()));
  print_warnings(data.inputs.warnings);
  MeasuredParts checkpoint = checkpoint_of(command, model, data);
  Progress progress;
  TuneResult result = with_progress("tuning", progress, [&] {
    return tune_model(model, *data.inputs.samples, options, checkpoint.records(), progress);
  });
  result.warnings = with_doubts(data, std::move(result.warnings));
  fs::path floating = options.reference;
  if (result.float_model) {
    floating = float_model_path(command.quantized);
    result.float_model->save(floating);
  }
  result.model->save(command.quantized);
  TuneSubject subject{.run = describe_run(options, data, result),
                      .files = {.quantized = command.quantized.filename(),
                                .floating = floating.filename(),
                                .source_bytes = model_bytes(floating),
                                .quantized_bytes = model_bytes(command.quantized)},
                      .target = parse_target(options.target),
                      .cost = parse_tune_cost(options.cost)};
  if (fallback_of(options) == TuneFallback::weights8) subject.kept_by = "--keep-8bit";
  write_result(command.output, describe_tune(subject, result),
               [&] { return tune_json(subject, result); });
  return exit_code(result.verdict, result.interrupted);
}

}  // namespace

void add_tune(CLI::App& program, int& exit_code) {
  const auto options = std::make_shared<TuneCommand>();
  auto* command =
      program.add_subcommand("tune", "Keep the fewest nodes in float that reach a target");
  OptionGroup main(*command, main_group);
  main.add("MODEL,-m,--model,--candidate", options->quantize.model,
           "The float32 .onnx model; with --reference a quantized one", "MODEL")
      ->required();
  main.add("--target", options->target,
           "What to reach on held-back samples: 'sqnr_db>30', 'agreement>0.99', "
           "'top1_accuracy_drop<0.5' with labels, 'kl_mean<0.01' of a decoder",
           "METRIC>VALUE");
  main.add("-o,--output", options->quantize.quantized, "Where to write the model", "OUT.onnx")
      ->required();
  auto* reference =
      main.add("--reference", options->reference,
               "Of a quantized model: the float .onnx model it was made from", "MODEL");
  OptionGroup search(*command, "Quantizers");
  search
      .add("--keep", options->keep,
           "Of a quantized model: keep these nodes in float and search for none", "LIST")
      ->delimiter(',');
  search.choice("--precision", options->quantize.precision, "Precision of weights and activations",
                quantized_precision_names());
  search.choice("--cost", options->cost,
                "What to spend least of: nodes, bytes of weights, or latency (multiply-adds)",
                {"nodes", "bytes", "latency"});
  search.choice("--fallback", options->fallback,
                "What the other nodes are: float (default), 16: activations of 16 bits, 8: of "
                "--precision int4, weights of 8 bits (its default)",
                {"float", "16", "8"});
  add_quantizing_options(*command, options->quantize);
  for (const char* quantizing :
       {"--fallback", "--fast", "--tune", "--target-cpu", "--placement", "--keep-float", "--ranges",
        "--save-ranges", "--precision", "--keep-8bit", "--block-size", "--asymmetric"})
    reference->excludes(command->get_option(quantizing));
  for (const char* searching :
       {"--target", "--cost", "--input-data", "--dataset", "--synthetic", "--format", "--report"})
    command->get_option("--keep")->excludes(command->get_option(searching));
  command->footer(
      "Example:\n  vernier tune model.onnx --target 'sqnr_db>30' --data calibration.npz -o "
      "model.mixed.onnx\n");
  command->callback([options, &exit_code] { exit_code = run_tune(*options); });
}

}  // namespace vernier::cli
