#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cli/command.h"
#include "cli/eval.h"
#include "cli/parts.h"
#include "cli/progress.h"
#include "vernier/analysis/parts/content_hash.h"
#include "vernier/analysis/text/text_generation.h"
#include "vernier/analysis/text/text_input.h"
#include "vernier/error.h"
#include "vernier/exporting/tokenizer.h"
#include "vernier/model/precision.h"
#include "vernier/report/text_generation.h"
#include "vernier/tensor/sample_archive.h"

namespace vernier::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t default_block_length = 2048;
// A model with more weights is not opened a second time to measure its rounding.
constexpr std::int64_t most_second_bytes = std::int64_t{1} << 30;
// A live reference, whose size is unknown, is opened again only if the candidate's weights are no
// larger than this.
constexpr std::int64_t most_second_candidate = std::int64_t{1} << 27;

Decoder require_decoder(const Model& model, const RoleOverrides& roles) {
  auto decoder = find_decoder(model, roles);
  if (!decoder)
    throw Error(fmt::format(
        "[text] {}: no integer input is looked up in a table with a row for each column of an "
        "output, so the model scores no tokens; name its input by --role NAME=tokens",
        model.name()));
  return std::move(*decoder);
}

// The given tokenizer, else the one next to the model; nullopt if there is none and none is needed.
std::optional<Tokenizer> open_tokenizer(const EvalCommand& options, const fs::path& model) {
  const std::string& python = options.models.id.python;
  if (!options.text.empty() || !options.tokenizer.empty())
    return require_tokenizer(options.tokenizer, model, python);
  const fs::path beside = find_tokenizer("", {&model, 1});
  if (beside.empty()) return std::nullopt;
  try {
    return Tokenizer(beside, python);
  } catch (const Error& error) {  // ids can be scored without a tokenizer
    print_warnings(std::vector{fmt::format("tokens are shown as ids: {}", error.what())});
    return std::nullopt;
  }
}

TokenBlocks read_text(const EvalCommand& options, const std::optional<Tokenizer>& tokenizer,
                      const Decoder& decoder) {
  if (options.text.empty())
    return read_blocks(options.input.dataset.name, decoder.tokens, options.block_length);
  return cut_blocks(tokenizer->encode(options.text),
                    options.block_length.value_or(default_block_length));
}

void require_text_options(const EvalCommand& options) {
  const bool dataset = !options.input.dataset.name.empty();
  if (options.text.empty() == !dataset)
    throw Error(
        "[text] --task text-generation scores a text: pass --text FILE.txt and --tokenizer, or "
        "--dataset TOKENS.npz with a row of ids for each block");
  if (!options.baseline.file.empty())
    throw Error("[eval] --baseline is not for --task text-generation; pass --fail-if");
  if (options.mode == "reference" && !options.models.reference.empty())
    throw Error("[eval] --mode reference scores -m alone: leave out --reference");
}

// Both models; `second` is the reference in other arithmetic, `exact` the candidate in exact
// arithmetic, each null if it is not run.
struct TextModels {
  std::optional<Model> reference_file;
  std::unique_ptr<Runner> reference_runner, candidate_runner, second, exact;
  std::unique_ptr<TextModel> reference, candidate;
  fs::path reference_path;
};

// Opens a reference that is a live model, also in float64, or a recording.
void open_other_reference(const EvalCommand& options, const ResolvedModel& argument,
                          std::int64_t candidate_bytes, TextModels& models) {
  const std::vector<std::int64_t> example(4, 0);
  const DecoderRun first{.tokens = example};
  HostOptions host = described_by(
      host_options(options.models, argument),
      decoder_inputs(models.candidate->decoder(), models.candidate_runner->inputs(), first),
      models.candidate_runner->outputs());
  models.reference_runner = open_reference(options, models.reference_path, host);
  models.reference = std::make_unique<TextModel>(*models.reference_runner, *models.candidate);
  if (model_format(models.reference_path) != ModelFormat::hosted ||
      candidate_bytes > most_second_candidate)
    return;
  host.precision = DType::f64;
  models.second = open_reference(options, models.reference_path, host);
}

TextModels open_text_models(const EvalCommand& options, const ResolvedModel& argument,
                            const Model& candidate) {
  TextModels models;
  const std::int64_t candidate_bytes = candidate.weight_bytes();
  Decoder decoder = require_decoder(candidate, options.io.roles);
  models.reference_path = find_reference(options.models, argument);
  const OrtOptions runtime_here = runner_options(options.runtime).onnx;
  if (precision_name(candidate) == "int8" && !runtime_here.exact &&
      candidate_bytes <= most_second_bytes) {
    OrtOptions exact = runtime_here;
    exact.exact = true;
    models.exact = std::make_unique<OrtRunner>(candidate.clone(), exact);
  }
  models.candidate_runner = std::make_unique<OrtRunner>(candidate.clone(), runtime_here);
  models.candidate = std::make_unique<TextModel>(*models.candidate_runner, std::move(decoder));
  if (models.reference_path.empty() || options.mode == "reference") return models;
  OrtOptions onnx = reference_runtime(options).onnx;
  if (model_format(models.reference_path) == ModelFormat::onnx) {
    models.reference_file = Model::load(models.reference_path);
    const Decoder own = require_decoder(*models.reference_file, {});
    models.reference_runner = std::make_unique<OrtRunner>(models.reference_file->clone(), onnx);
    models.reference = std::make_unique<TextModel>(*models.reference_runner, own);
    if (models.reference_file->weight_bytes() > most_second_bytes) return models;
    onnx.optimization = Optimization::disabled;
    onnx.threads = 1;
    models.second = std::make_unique<OrtRunner>(models.reference_file->clone(), onnx);
    return models;
  }
  open_other_reference(options, argument, candidate_bytes, models);
  return models;
}

// Hashes the tokens, because a tokenizer next to the model may change without a change of options.
std::string hash_of(const TokenBlocks& text) {
  std::string hashes;
  for (const std::vector<std::int64_t>& block : text.blocks)
    hashes += content_hash(std::as_bytes(std::span(block))).text();
  return content_hash(hashes).text();
}

}  // namespace

bool scores_text(const EvalCommand& options) {
  const fs::path dataset = options.input.dataset.name;
  if (options.models.id.task != "text-generation") return false;
  if (!options.text.empty() || dataset.empty()) return true;
  const bool arrays = dataset.extension() == ".npz" || dataset.extension() == ".npy";
  if (!arrays || !fs::is_regular_file(dataset) ||
      !options.input.dataset.options.label_column.empty())
    return false;
  const SampleArchive archive(dataset);
  return std::ranges::none_of(std::array{"label", "labels", "y"},
                              [&](const char* name) { return archive.has(name); });
}

int run_text(const EvalCommand& options) {
  require_writable(options.output);
  require_text_options(options);
  const ResolvedModel argument = resolve_model_argument(options.models.models, options.models.id);
  const Model candidate = load_candidate(argument.model, options.precision);
  const std::string precision(precision_name(candidate));
  const auto tokenizer = open_tokenizer(options, argument.model);
  const TextModels models = open_text_models(options, argument, candidate);
  TokenBlocks text = read_text(options, tokenizer, models.candidate->decoder());
  const std::int64_t most = options.input.samples.value_or(all_samples);
  if (std::ssize(text.blocks) > most) text.blocks.resize(static_cast<std::size_t>(most));
  TextGenerationOptions evaluated{
      .batch = options.input.dataset.batch,
      .prompt_length = options.io.prompt_length,
      .threads = options.runtime.threads,
      .limits = parse_limits(options.fail_if, text_limit_metrics(models.reference != nullptr)),
      .bootstrap = options.judge.bootstrap,
      .second = models.second.get(),
      .exact = models.exact.get()};
  evaluated.recorded =
      models.reference && model_format(models.reference_path) == ModelFormat::recorded;
  if (evaluated.recorded) {
    evaluated.batch = 1;
    evaluated.exact = nullptr;
  }
  evaluated.bootstrap.seed = options.input.seed;
  if (options.steps) evaluated.steps = *options.steps;
  MeasuredParts parts(options.parts, options.output,
                      {.candidate = argument.model,
                       .reference = models.reference_path,
                       .candidate_model = options.precision.empty() ? &candidate : nullptr,
                       .reference_model = models.reference_file ? &*models.reference_file : nullptr,
                       .inputs = hash_of(text),
                       .sections = {{text_section, text_runs(text, evaluated.batch)}}});
  evaluated.records = parts.records();
  const TextGenerationResult result = with_progress("scoring", evaluated.progress, [&] {
    return evaluate_text(models.reference.get(), *models.candidate, text, evaluated);
  });
  if (parts.is_part()) return parts.write();
  RunDescription run = describe_run("eval", argument, models.reference_path, options.runtime);
  run.task = options.models.id.task;
  run.precision = precision;
  run.inputs = options.text.empty() ? display_name(options.input.dataset.name)
                                    : fs::path(options.text).filename().string();
  run.samples = result.blocks;
  run.interrupted = result.interrupted;
  run.settings.emplace_back("block_length", result.block_length);
  run.settings.emplace_back("batch", evaluated.batch);
  if (tokenizer) run.settings.emplace_back("tokenizer", tokenizer->path().filename().string());
  if (models.reference_runner) describe_host(run, models.reference_runner->versions());
  const TextPassages passages =
      text_passages(result, [&](std::span<const std::vector<std::int64_t>> lists) {
        return tokenizer ? tokenizer->decode(lists) : token_lists(lists);
      });
  write_result(options.output, describe_text(run, result, passages),
               [&] { return text_json(run, result, passages); });
  return exit_code(result.verdict, result.interrupted);
}

}  // namespace vernier::cli
