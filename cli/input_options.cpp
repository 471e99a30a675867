#include "cli/input_options.h"
#include "cli/validators.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "vernier/data/dataset.h"
#include "vernier/data/dataset_samples.h"
#include "vernier/data/npz_batches.h"
#include "vernier/data/random.h"
#include "vernier/error.h"
#include "vernier/model/input_kind.h"
#include "vernier/runtime/open_runner.h"

namespace vernier::cli {
namespace {

struct Named {
  std::string name;
  std::string value;
};

// NAME=VALUE; a value alone is for the only input. The last '=' counts: names may hold one too.
Named split_named(const std::string& text, std::span<const TensorSpec> inputs,
                  std::string_view option) {
  const std::size_t equals = text.rfind('=');
  if (equals != std::string::npos) return {text.substr(0, equals), text.substr(equals + 1)};
  if (inputs.size() != 1)
    throw Error(fmt::format(
        "[inputs] {} {}: the model has {} inputs; say which one, as in {} {}={}", option, text,
        inputs.size(), option, inputs.empty() ? "NAME" : inputs[0].name, text));
  return {inputs[0].name, text};
}

template <typename T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Shape parse_shape(const std::string& text) {
  Shape shape;
  std::string_view rest = text;
  for (bool more = !rest.empty(); more;) {
    const std::size_t cross = rest.find('x');
    const auto dim = parse_number<std::int64_t>(rest.substr(0, cross));
    if (!dim || *dim < 0)
      throw Error(fmt::format("[inputs] --shape {}: expected dimensions like 1x3x224x224", text));
    shape.push_back(*dim);
    more = cross != std::string_view::npos;
    if (more) rest.remove_prefix(cross + 1);
  }
  return shape;
}

DrawRange parse_range(const std::string& text) {
  const std::size_t colon = text.find(':');
  const auto low = parse_number<double>(std::string_view(text).substr(0, colon));
  const auto high = colon == std::string::npos
                        ? std::nullopt
                        : parse_number<double>(std::string_view(text).substr(colon + 1));
  if (!low || !high)
    throw Error(fmt::format("[inputs] --input-range {}: expected LOW:HIGH, as in 0:255", text));
  return {*low, *high};
}

std::map<std::string, Shape> parse_shapes(const InputOptions& options,
                                          std::span<const TensorSpec> inputs) {
  std::map<std::string, Shape> shapes;
  for (const std::string& text : options.shapes) {
    const auto [name, value] = split_named(text, inputs, "--shape");
    shapes[name] = parse_shape(value);
  }
  return shapes;
}

std::map<std::string, DrawRange> parse_ranges(const InputOptions& options,
                                              std::span<const TensorSpec> inputs) {
  std::map<std::string, DrawRange> ranges;
  for (const std::string& text : options.ranges) {
    const auto [name, value] = split_named(text, inputs, "--input-range");
    ranges[name] = parse_range(value);
  }
  return ranges;
}

void require_consistent(const InputOptions& options) {
  const auto refuse_together = [](bool both, std::string_view first, std::string_view others) {
    if (both)
      throw Error(fmt::format("[inputs] {} does not go with {}; leave one out", first, others));
  };
  const bool draws = !options.ranges.empty() || !options.distribution.empty();
  const bool file = !options.data.empty();
  const bool dataset = !options.dataset.name.empty();
  refuse_together(options.samples && options.sample_index, "--samples", "--sample-index");
  refuse_together(file && draws, "--input-data", "--input-range or --input-dist");
  refuse_together(dataset && (draws || file || !options.shapes.empty()), "--dataset",
                  "--input-data, --shape, --input-range or --input-dist");
}

// Which samples of those there are.
std::unique_ptr<Samples> select(const InputOptions& options, std::unique_ptr<Samples> all) {
  const std::int64_t first = options.sample_index.value_or(0);
  const std::int64_t count = options.sample_index ? 1 : options.samples.value_or(all->size());
  return select_samples(std::move(all), first, count);
}

Inputs from_file(const InputOptions& options, std::span<const TensorSpec> inputs) {
  NpzBatches batches = npz_batches(options.data, inputs, parse_shapes(options, inputs));
  const std::string name = std::filesystem::path(options.data).filename().string();
  return {select(options, std::move(batches.samples)), name, std::move(batches.warnings)};
}

// The examples of the samples that were asked for; each sample takes `batch` of them.
std::vector<std::int64_t> dataset_positions(const InputOptions& options, std::int64_t size,
                                            std::int64_t batch) {
  const std::int64_t first = options.sample_index.value_or(0);
  const std::int64_t count =
      options.sample_index ? 1 : options.samples.value_or(options.default_samples);
  if (first >= size / batch && options.sample_index)
    throw Error(
        fmt::format("[inputs] --sample-index {}: the dataset has {} samples", first, size / batch));
  const auto all =
      select_positions(size, {.shuffle = options.dataset.shuffle, .seed = options.seed});
  const auto begin = all.begin() + first * batch;
  return {begin, count < (all.end() - begin) / batch ? begin + count * batch : all.end()};
}

Inputs from_dataset(const InputOptions& options, std::span<const TensorSpec> inputs,
                    const std::filesystem::path& model) {
  auto dataset = open_dataset(options.dataset);
  const std::int64_t batch = inputs.empty() ? 1 : batch_size(inputs[0], options.dataset.batch);
  const auto positions = dataset_positions(options, dataset->size(), batch);
  DatasetSamples made = dataset_samples(std::move(dataset), positions, inputs,
                                        loader_options(options.dataset, model));
  return {std::move(made.samples), describe_dataset(options.dataset, options.seed),
          warnings_of(made.report)};
}

// Floats that are given a range are uniform, unless something else was asked for.
std::string distribution_of(const InputOptions& options, std::span<const TensorSpec> inputs,
                            const std::map<std::string, DrawRange>& ranges) {
  if (!options.distribution.empty()) return options.distribution;
  const bool in_range = std::ranges::any_of(inputs, [&](const TensorSpec& input) {
    return is_float(input.dtype) && ranges.contains(input.name);
  });
  return in_range ? "uniform" : options.default_distribution;
}

Inputs from_random(const InputOptions& options, std::span<const TensorSpec> inputs,
                   const std::filesystem::path& model) {
  const std::map<std::string, DrawRange> ranges = parse_ranges(options, inputs);
  const std::string distribution = distribution_of(options, inputs, ranges);
  RandomOptions random{
      .samples = options.sample_index ? std::numeric_limits<std::int64_t>::max()
                                      : options.samples.value_or(options.default_samples),
      .seed = options.seed,
      .shapes = parse_shapes(options, inputs),
      .ranges = ranges,
      .distribution = distribution == "normal" ? Distribution::normal : Distribution::uniform};
  const bool has_integers =
      std::ranges::any_of(inputs, [](const auto& input) { return is_integer(input.dtype); });
  if (has_integers && model_format(model) == ModelFormat::onnx)
    random.index_lengths = index_lengths(Model::load(model));
  return {select(options, random_samples(inputs, random)),
          fmt::format("random {}, seed {}", distribution, options.seed),
          {}};
}

}  // namespace

void add_input_options(CLI::App& command, InputOptions& options) {
  const std::string group = "Inputs";
  command
      .add_option(
          "--samples", options.samples,
          fmt::format("Samples to run (random inputs and datasets: {} by default; a file: all)",
                      options.default_samples))
      ->check(at_least(1))
      ->type_name("N")
      ->group(group);
  command.add_option("--sample-index", options.sample_index, "Run only sample N, counting from 0")
      ->check(at_least(0))
      ->type_name("N")
      ->group(group);
  command.add_option("--seed", options.seed, "Seed of random inputs, and of --shuffle")
      ->capture_default_str()
      ->type_name("N")
      ->group(group);
  command
      .add_option("--shape", options.shapes,
                  "Shape of an input, as in ids=1x128; the name may be left out when there is one "
                  "input; repeatable")
      ->type_name("[NAME=]DIMS")
      ->allow_extra_args(false)
      ->group(group);
  command
      .add_option("--input-range", options.ranges,
                  "Range of an input's random values, as in image=0:255; of "
                  "integers the end is excluded; repeatable")
      ->type_name("[NAME=]LOW:HIGH")
      ->allow_extra_args(false)
      ->group(group);
  command
      .add_option("--input-dist", options.distribution,
                  fmt::format("Distribution of random floats ({} by default)",
                              options.default_distribution))
      ->check(CLI::IsMember({"uniform", "normal"}))
      ->group(group);
  command
      .add_option("--input-data", options.data,
                  "Real inputs: an .npz with an array for each input, its leading axis the "
                  "samples, or a folder of .npz files, one a sample")
      ->type_name("PATH")
      ->group(group);
  add_dataset_options(command, options.dataset);
}

Inputs make_inputs(const InputOptions& options, std::span<const TensorSpec> inputs,
                   const std::filesystem::path& model) {
  require_consistent(options);
  if (!options.dataset.name.empty()) return from_dataset(options, inputs, model);
  if (!options.data.empty()) return from_file(options, inputs);
  return from_random(options, inputs, model);
}

void print_warnings(std::span<const std::string> warnings) {
  for (const std::string& warning : warnings) fmt::print(stderr, "warning: {}\n", warning);
}

}  // namespace vernier::cli
