#include "cli/input_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "cli/options.h"
#include "vernier/error.h"

namespace vernier::cli {
namespace {

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
          "Take examples in an order drawn with --seed, or in the dataset's (default: only "
          "with --task on a subset)")
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

void add_input_options(CLI::App& command, InputSpec& spec, const std::string& data_names) {
  OptionGroup first(command, main_group);
  constexpr std::array of_picked = {"eval", "debug", "diagnose", "layers"};
  const bool picks = std::ranges::count(of_picked, command.get_name()) > 0;
  first.each(
      "--samples", [&spec](const std::string& text) { spec.samples = parse_samples(text); },
      fmt::format("How many samples to run, or all (default: {}; of a file, all{})",
                  spec.default_samples, picks ? "; of made-up images, 12" : ""),
      "N");
  first.add(data_names, spec.data,
            "Real inputs: an .npz with an array for each input, its leading axis the samples, or "
            "a folder with an .npz for each sample",
            "PATH");
  add_dataset_options(command, spec.dataset);
  OptionGroup group(command, "Inputs");
  group.each(
      "--shape",
      [&spec](const std::string& text) {
        const auto [name, shape] = parse_input_shape(text);
        spec.shapes[name] = shape;
      },
      "Shape of an input, as in ids=1x128; the only input needs no name; repeatable",
      "[NAME=]DIMS");

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
  group.add(
      "--tokenizer", text.tokenizer,
      "Tokenizer for --text: tokenizer.json, or the folder that has it (default: beside the model)",
      "PATH");
  group
      .add("--block-length", text.block_length,
           "Tokens of a block of --text, with nothing before them", "N")
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
  // A decoder has many similar caches: only the first is listed.
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

}  // namespace vernier::cli
