#include "cli/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <iomanip>
#include <iterator>
#include <set>
#include <sstream>

#include "cli/output.h"
#include "vernier/analysis/text/token_blocks.h"
#include "vernier/data/npz_batches.h"
#include "vernier/error.h"
#include "vernier/exporting/tokenizer.h"
#include "vernier/metrics/pooling.h"
#include "vernier/runtime/placement.h"
#include "vernier/tensor/in_process.h"
#include "vernier/tensor/sample_archive.h"

namespace vernier::cli {
namespace {

const std::map<std::string, Optimization> optimizations = {{"off", Optimization::disabled},
                                                           {"basic", Optimization::basic},
                                                           {"extended", Optimization::extended},
                                                           {"all", Optimization::all}};

void set_column(DatasetOptions& options, const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::string role = text.substr(0, equals);
  if (equals == text.npos || equals + 1 == text.size() || (role != "image" && role != "label"))
    throw Error(fmt::format("[dataset] --column {}: expected image=NAME or label=NAME", text));
  (role == "image" ? options.image_column : options.label_column) = text.substr(equals + 1);
}

// An option whose value is a size in pixels.
CLI::Option* add_size(OptionGroup& group, const std::string& name, std::optional<Size>& size,
                      const std::string& help) {
  const auto take = [name, &size](const std::string& text) {
    size = parse_size(text);
    if (!size)
      throw Error(fmt::format(
          "[dataset] {} {}: expected pixels, as in 224 or 384x512 (height first)", name, text));
  };
  return group.each(name, take, help, "N|HxW");
}

void add_preprocessing_options(CLI::App& command, PreprocessingChanges& changes) {
  OptionGroup group(command, dataset_group);
  group.add("--preprocess", changes.file,
            "How images are prepared: preprocessor_config.json, or a JSON file with a "
            "\"preprocessing\" object (default: the file beside the model)",
            "FILE");
  auto* size = add_size(group, "--image-size", changes.image_size,
                        "Resize images to exactly this size, as in 224 or 384x512");
  command
      .add_option("--resize-edge", changes.resize_edge,
                  "Resize so that the shorter edge is N pixels")
      ->check(at_least(1))
      ->excludes(size)
      ->type_name("N")
      ->group(dataset_group);
  add_size(group, "--center-crop", changes.center_crop, "Then crop to this size");
  group
      .each(
          "--interpolation",
          [&changes](const std::string& name) { changes.filter = parse_filter(name); },
          "How images are resized, as in Pillow", "")
      ->check(CLI::IsMember({"nearest", "box", "bilinear", "hamming", "bicubic", "lanczos"}));
  group.add("--rescale", changes.rescale_factor, "Multiply samples of 0 to 255 by this (1/255)",
            "FACTOR");
  group
      .add("--mean", changes.mean, "Subtract this: one value for each channel, or one for all",
           "X,X,X")
      ->delimiter(',');
  group.add("--std", changes.std, "Divide by this, likewise", "X,X,X")->delimiter(',');
}

void add_dataset_options(CLI::App& command, DatasetSpec& spec) {
  auto* dataset =
      OptionGroup(command, main_group)
          .add("--dataset", spec.name,
               "Real images: a folder with a subfolder for each class, Parquet, Arrow, IDX or "
               ".npz files, or the id of a dataset in the Hugging Face cache",
               "PATH|ID");
  OptionGroup group(command, dataset_group);
  group.add("--split", spec.options.split, "Which part of the dataset, as in test", "NAME");
  command
      .add_flag_function(
          "--shuffle,!--no-shuffle", [&spec](std::int64_t count) { spec.shuffle = count > 0; },
          "Take examples in an order drawn with --seed, or in the dataset's (a --task that takes "
          "some of them shuffles, anything else does not)")
      ->group(dataset_group);
  group.each(
      "--column", [&spec](const std::string& text) { set_column(spec.options, text); },
      "Where the dataset keeps its images or labels, as in image=img; repeatable",
      "image|label=NAME");
  group
      .add("--batch", spec.batch, "Examples in each run, where the model's batch axis is dynamic",
           "N")
      ->check(at_least(1));
  group
      .add("--max-bad", spec.max_bad,
           "Give up when more examples than this cannot be used (they are counted)", "N")
      ->check(at_least(0));
  add_preprocessing_options(command, spec.preprocessing);
  for (auto* option : command.get_options())
    if (option->get_group() == dataset_group) option->needs(dataset);
}

}  // namespace

CLI::Validator at_least(std::int64_t least) {
  const auto check = [least](const std::string& text) -> std::string {
    std::int64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [parsed, error] = std::from_chars(text.data(), end, value);
    if (error == std::errc{} && parsed == end && value >= least) return "";
    return fmt::format("expected a whole number of at least {}, found '{}'", least, text);
  };
  return CLI::Validator(check, "", fmt::format("at_least_{}", least));
}

namespace {

CLI::Validator number_that(bool (*fits)(double), const std::string& expected) {
  const auto check = [fits, expected](const std::string& text) -> std::string {
    char* end = nullptr;
    const double number = std::strtod(text.c_str(), &end);
    if (!text.empty() && *end == '\0' && std::isfinite(number) && fits(number)) return "";
    return fmt::format("expected a number {}, found {}", expected, text);
  };
  return CLI::Validator(check, "");
}

}  // namespace

CLI::Validator above_zero() {
  return number_that([](double number) { return number > 0; }, "above 0");
}

CLI::Validator from_zero() {
  return number_that([](double number) { return number >= 0; }, "of at least 0");
}

CLI::Option* add_model_options(CLI::App& command, ModelOptions& options,
                               const std::string& model_help, const std::string& more_model_names,
                               const std::string& more_reference_names) {
  OptionGroup group(command, main_group);
  auto* model =
      group.add("MODEL,-m,--model" + more_model_names, options.models, model_help, "MODEL");
  group.add("--reference" + more_reference_names, options.reference,
            "What it was made from: .onnx, TorchScript .pt, a PyTorch model (FILE.py:FUNCTION, "
            "hf:ID, timm:NAME, .pt2), or recorded .npz (known for an export and an id)",
            "MODEL");
  return model;
}

void add_model_id_options(CLI::App& command, ModelIdOptions& options) {
  OptionGroup group(command, "Models by id");
  if (!command.get_option_no_throw("--task"))
    group.add("--task", options.task, "What the model is for; a Hugging Face id needs it", "TASK");
  group.add(
      "--python", options.python,
      "Interpreter to export with, and to run a PyTorch model in (default: that of the active "
      "environment, or the first that has PyTorch)",
      "PROGRAM");
  group.flag("--rebuild", options.rebuild, "Export again what is in the cache");
}

namespace {

void add_timeout_option(CLI::App& command, HostOptions& host) {
  OptionGroup(command, "Models by id")
      .each(
          "--host-timeout",
          [&host](const std::string& text) {
            host.timeout = std::chrono::seconds(std::stoll(text));
          },
          "Give a Python model up when it is silent for so long (default: 300)", "SECONDS")
      ->check(at_least(1));
}

// The first row of each array; those of the model's inputs are called as these are.
std::vector<Tensor> first_sample(const std::filesystem::path& data) {
  const SampleArchive archive(data);
  std::vector<TensorSpec> inputs;
  for (const std::string& name : archive.names()) inputs.push_back({.name = name, .ranked = false});
  return npz_batches(data, inputs).samples->sample(0);
}

}  // namespace

void add_host_options(CLI::App& command, ModelOptions& options) {
  OptionGroup(command, "Models by id")
      .add("--reference-model", options.reference_model,
           "The model that the --reference is a file of weights (.pth) of: FILE.py:CLASS", "MODEL");
  add_timeout_option(command, options.host);
}

void add_operators_option(CLI::App& command, HostOptions& host) {
  OptionGroup(command, "Models by id")
      .each_flag(
          "--ops", [&host] { host.watch = HostWatch::operators; },
          "Of a PyTorch model: show every operator, not only the modules without children");
}

void add_live_model_options(CLI::App& command, ModelIdOptions& id, HostOptions& host) {
  OptionGroup group(command, "Models by id");
  group.add("--task", id.task, "What a Hugging Face model is for, if its files do not say", "TASK");
  group.add("--python", id.python, "Interpreter to run a PyTorch model in", "PROGRAM");
  add_timeout_option(command, host);
  add_operators_option(command, host);
}

HostOptions own_host(HostOptions host, const ModelIdOptions& id, const InputSpec& inputs) {
  host.python = id.python;
  host.task = id.task;
  if (!inputs.data.empty()) host.example = first_sample(inputs.data);
  return host;
}

std::filesystem::path resolve_reference(const ModelOptions& options, const ResolvedModel& model) {
  if (options.reference_model.empty()) return resolve_reference(options.reference, model);
  if (options.reference.empty())
    throw Error("[model] --reference-model: pass the file of its weights as --reference");
  if (!is_host_source(options.reference_model))
    throw Error(fmt::format("[model] --reference-model {}: expected FILE.py:CLASS",
                            options.reference_model));
  return options.reference_model;
}

HostOptions host_options(const ModelOptions& options, const ResolvedModel& model) {
  HostOptions host = options.host;
  if (options.reference.empty()) {
    host.weights = model.host.weights;
    host.seed = model.host.seed;
  }
  host.python = options.id.python;
  host.task = options.id.task;
  if (host.task.empty() && options.reference.empty()) host.task = model.host.task;
  if (!options.reference_model.empty()) host.weights = options.reference;
  return host;
}

void add_input_options(CLI::App& command, InputSpec& spec, const std::string& data_names) {
  OptionGroup first(command, main_group);
  first.each(
      "--samples", [&spec](const std::string& text) { spec.samples = parse_samples(text); },
      fmt::format("How many samples to run, or all (default: {}; of a file, all)",
                  spec.default_samples),
      "N");
  first.add(data_names, spec.data,
            "Real inputs: an .npz with an array for each input, its leading axis the samples, or "
            "a folder with an .npz for each sample",
            "PATH");
  add_dataset_options(command, spec.dataset);
  first.each(
      "--shape",
      [&spec](const std::string& text) {
        const auto [name, shape] = parse_input_shape(text);
        spec.shapes[name] = shape;
      },
      "Shape of an input, as in ids=1x128; the only input needs no name; repeatable",
      "[NAME=]DIMS");

  OptionGroup group(command, "Inputs");
  group.add("--sample-index", spec.sample_index, "Run only sample N, counting from 0", "N")
      ->check(at_least(0));
  group.add("--seed", spec.seed, "Seed of random inputs, and of --shuffle", "N");
  group.each(
      "--input-range",
      [&spec](const std::string& text) {
        const auto [name, range] = parse_input_range(text);
        spec.ranges[name] = range;
      },
      "Range of an input's random values, as in image=0:255; for integers the end is excluded; "
      "repeatable",
      "[NAME=]LOW:HIGH");
  const bool normal = spec.default_distribution == Distribution::normal;
  group
      .each(
          "--inputs,--input-dist",
          [&spec](const std::string& name) {
            spec.distribution.reset();
            if (name == "normal") spec.distribution = Distribution::normal;
            if (name == "uniform") spec.distribution = Distribution::uniform;
          },
          fmt::format("How inputs are drawn without data: uniform or normal floats, or auto: like "
                      "those the model was made for where eval compares, else {}",
                      normal ? "normal" : "uniform"),
          "")
      ->check(CLI::IsMember({"auto", "uniform", "normal"}));
}

void add_text_options(CLI::App& command, TextInput& text) {
  OptionGroup group(command, "Inputs");
  group.add("--text", text.file, "A text that a decoder is fed, UTF-8", "FILE");
  group.add("--tokenizer", text.tokenizer,
            "Of --text: tokenizer.json, or the folder that has it (default: beside the model)",
            "PATH");
  group
      .add("--block-length", text.block_length,
           "Of --text: tokens of a block, with nothing before them", "N")
      ->check(at_least(2));
}

void add_token_places(CLI::App& command, InputSpec& spec) {
  OptionGroup(command, "Inputs")
      .each(
          "--at", [&spec](const std::string& text) { spec.at = parse_token_places(text); },
          "Of a decoder: the tokens of each sequence that are run, behind the reference's cache: "
          "first, last, worst (its next token's distribution changes most) or numbers",
          "LIST");
}

void read_text(const TextInput& text, const std::filesystem::path& model, const std::string& python,
               InputSpec& spec) {
  if (text.file.empty()) return;
  const auto beside = model.parent_path() / "tokenizer.json";
  if (text.tokenizer.empty() && !std::filesystem::is_regular_file(beside))
    throw Error("[text] --text: its tokens are needed; pass --tokenizer tokenizer.json");
  const Tokenizer tokenizer(text.tokenizer.empty() ? beside : std::filesystem::path(text.tokenizer),
                            python);
  spec.tokens = cut_blocks(tokenizer.encode(text.file), text.block_length).blocks;
  if (spec.tokens.empty()) throw Error(fmt::format("[text] {}: holds no tokens", text.file));
  spec.text = std::filesystem::path(text.file).filename().string();
}

void add_constant_options(CLI::App& command, IoMapping& io) {
  OptionGroup group(command, "Inputs");
  group.each(
      "--set",
      [&io](const std::string& text) {
        auto [name, values] = parse_constant(text);
        io.constants[name] = std::move(values);
      },
      "Value of an input in every sample, as in sr=16000 or size=[224,224]; repeatable",
      "NAME=VALUE");
  group.each(
      "--role", [&io](const std::string& text) { io.roles.push_back(parse_role(text)); },
      "What inputs of a decoder are, where its graph does not say, as in 'past.*=cache'; "
      "repeatable",
      "PATTERN=ROLE");
  group
      .add("--prompt-length", io.prompt_length,
           "Of a decoder: tokens that it is fed at once, before steps of one", "N")
      ->check(at_least(1));
}

void add_io_options(CLI::App& command, IoMapping& io) {
  OptionGroup group(command, "Inputs");
  group.each(
      "--map-input",
      [&io](const std::string& text) { io.inputs.insert(parse_name_pair(text, "--map-input")); },
      "The candidate's input that also feeds an input of the reference; repeatable",
      "REFERENCE=CANDIDATE");
  group.each(
      "--map-output",
      [&io](const std::string& text) { io.outputs.insert(parse_name_pair(text, "--map-output")); },
      "The candidate's output that an output of the reference is compared with; repeatable",
      "REFERENCE=CANDIDATE");
  add_constant_options(command, io);
}

void describe_io(const IoMapping& io, RunDescription& run) {
  const auto add = [&](const char* name, const auto& pairs, const auto& text) {
    std::vector<std::string> texts;
    for (const auto& pair : pairs) texts.push_back(text(pair));
    if (!texts.empty()) run.settings.emplace_back(name, std::move(texts));
  };
  const auto names = [](const auto& pair) { return fmt::format("{}={}", pair.first, pair.second); };
  add("map_input", io.inputs, names);
  add("map_output", io.outputs, names);
  add("set", io.constants, [](const auto& constant) {
    const auto& [name, values] = constant;
    return values.size() == 1 ? fmt::format("{}={}", name, values[0])
                              : fmt::format("{}=[{}]", name, fmt::join(values, ","));
  });
  // The caches of a decoder are many and all alike.
  constexpr std::size_t most_shown = 4;
  const std::span<const Feedback> all(io.feedback);
  add("feedback", all.first(all.size() <= most_shown ? all.size() : 1),
      [](const Feedback& state) { return fmt::format("{}={}", state.output, state.input); });
  if (all.size() > most_shown)
    run.settings.emplace_back("fed_back", static_cast<std::int64_t>(all.size()));
  add("role", io.roles, [](const auto& role) {
    return fmt::format("{}={}", role.first, decoder_role_name(role.second));
  });
  if (io.steps > 1) run.settings.emplace_back("steps", io.steps);
  if (!io.feedback.empty())
    run.settings.emplace_back("state",
                              std::string(io.teacher ? "the reference's" : "each model's own"));
}

void add_label_options(CLI::App& command, DatasetSpec& spec) {
  OptionGroup(command, dataset_group)
      .add("--label-mapping", spec.label_mapping,
           "JSON object from the dataset's labels or class names to the model's labels", "FILE")
      ->needs("--dataset");
}

void add_runtime_options(CLI::App& command, RuntimeOptions& options) {
  OptionGroup group(command, "Runtime");
  group.add("--ep", options.provider, "Execution provider of ONNX Runtime", "NAME")
      ->capture_default_str();
  group.add("--ep-option", options.provider_options, "Option of the execution provider; repeatable",
            "KEY=VALUE");
  group
      .add("--optimize", options.optimize,
           "Graph optimisation level (default: off while intermediate tensors are watched, else "
           "all)")
      ->check(CLI::IsMember({"off", "basic", "extended", "all"}));
  group.flag("--exact", options.exact,
             "Integer products as the model says, whatever the CPU: no kernel that saturates, "
             "no optimisation between quantizers");
  group.add("--threads", options.threads, "Threads; 0: one for each core", "N")->check(at_least(0));
}

RunnerOptions runner_options(const RuntimeOptions& options) {
  RunnerOptions runner;
  runner.onnx.provider = options.provider;
  for (const std::string& text : options.provider_options) {
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos)
      throw Error(fmt::format("[runtime] --ep-option {}: expected KEY=VALUE", text));
    runner.onnx.provider_options[text.substr(0, equals)] = text.substr(equals + 1);
  }
  if (!options.optimize.empty()) runner.onnx.optimization = optimizations.at(options.optimize);
  runner.onnx.exact = options.exact;
  runner.onnx.threads = runner.torch.threads = options.threads;
  return runner;
}

namespace {

// Without the folders around it: of a file or folder, or of each word of a command.
std::string host_name(const std::string& source) {
  if (is_in_process(source) || source.find(".py:") != std::string::npos || source.ends_with(".pt2"))
    return std::filesystem::path(source).filename();
  if (source.starts_with("hf:") && std::filesystem::is_directory(source.substr(3)))
    return "hf:" + std::filesystem::path(source.substr(3)).filename().string();
  if (!source.starts_with("host:")) return source;
  std::istringstream words(source.substr(5));
  std::vector<std::string> names;
  for (std::string word; words >> std::quoted(word, '\'');)
    names.push_back(std::filesystem::path(word).filename());
  return fmt::format("host:{}", fmt::join(names, " "));
}

}  // namespace

std::string display_name(const std::filesystem::path& model) {
  return is_host_source(model.string()) ? host_name(model.string()) : model.filename().string();
}

void describe_host(RunDescription& run,
                   const std::vector<std::pair<std::string, std::string>>& versions,
                   const std::string& fact) {
  std::vector<std::string> texts;
  for (const auto& [name, version] : versions) texts.push_back(fmt::format("{} {}", name, version));
  if (!texts.empty()) run.settings.emplace_back(fact, fmt::format("{}", fmt::join(texts, ", ")));
}

RunDescription describe_run(const std::string& command, const ResolvedModel& candidate,
                            const std::filesystem::path& reference, const RuntimeOptions& runtime) {
  const auto has_format = [&](ModelFormat format) {
    return std::ranges::any_of(std::array{candidate.model, reference}, [&](const auto& path) {
      return !path.empty() && std::filesystem::exists(path) && model_format(path) == format;
    });
  };
  const bool onnx = has_format(ModelFormat::onnx);
  return {.command = command,
          .candidate = candidate.name,
          .reference = display_name(reference),
          .device = onnx ? runtime.provider : "",
          .runtimes = {.onnxruntime = onnx, .torch = has_format(ModelFormat::torchscript)}};
}

void describe_placement(RunDescription& run, const Model& model, const RuntimeOptions& runtime,
                        Samples& samples) {
  if (is_cpu(runtime.provider)) return;
  Placement placed;
  try {
    placed = placement(model, runner_options(runtime).onnx, samples.sample(0));
  } catch (const Error& error) {  // the result stands without it
    return print_warnings(
        std::array{fmt::format("which provider computed what is not known: {}", error.what())});
  }
  std::vector<std::string> texts;
  for (const auto& [provider, operators] : placed) {
    const std::set<std::string> kinds(operators.begin(), operators.end());
    texts.push_back(fmt::format("{}: {} ({})", provider, operators.size(), fmt::join(kinds, ", ")));
    if (is_cpu(provider))
      print_warnings(
          std::array{fmt::format("{} of the nodes that run are computed on the cpu, not on {}: {}",
                                 operators.size(), runtime.provider, fmt::join(kinds, ", "))});
  }
  run.settings.emplace_back("nodes_on", std::move(texts));
}

void add_limit_options(CLI::App& command, std::vector<std::string>& fail_if,
                       const std::string& help) {
  OptionGroup(command, main_group).add("--fail-if", fail_if, help, "LIMIT");
}

void add_baseline_options(CLI::App& command, BaselineOptions& options) {
  OptionGroup group(command, "Baseline");
  auto* file = group.add("--baseline", options.file,
                         "Fail when a figure is worse than this file says was accepted, by more "
                         "than its tolerance",
                         "FILE");
  group.flag("--update-baseline", options.update, "Write this run's figures to that file instead")
      ->needs(file);
}

std::vector<Limit> limits_in_force(std::span<const std::string> fail_if,
                                   const BaselineOptions& baseline,
                                   std::span<const std::string> metrics) {
  std::vector<Limit> limits = parse_limits(fail_if, metrics);
  if (!baseline.file.empty() && !baseline.update)
    std::ranges::copy(limits_of(read_baseline(baseline.file, metrics)), std::back_inserter(limits));
  return limits;
}

void add_judgement_options(CLI::App& command, JudgeOptions& options, const std::string& name) {
  OptionGroup group(command, name);
  group
      .add("--verdict", options.verdict,
           "Percentage points that a metric may be worse than the reference's", "POINTS")
      ->check(from_zero());
  group.flag("--two-sided", options.two_sided, "Fail when it is better by as much, too");
  group.add("--resamples", options.bootstrap.resamples, "Draws of the bootstrap interval", "N")
      ->check(above_zero());
}

void add_embedding_options(CLI::App& command, KnnOptions& task, std::string& pooling,
                           const std::string& name) {
  OptionGroup group(command, name);
  command
      .add_option("--temperature", task.temperature,
                  "Votes are exp(similarity / T) instead of the similarity")
      ->check(above_zero())
      ->type_name("T")
      ->group(name);
  group
      .add("--pooling", pooling,
           "How an output becomes an embedding (default: token 0 of [samples,tokens,dims])")
      ->check(
          CLI::IsMember(std::vector<std::string>(pooling_names().begin(), pooling_names().end())));
}

}  // namespace vernier::cli
