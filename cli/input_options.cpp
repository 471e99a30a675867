#include "cli/input_options.h"
#include "cli/validators.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "vernier/data/npz_batches.h"
#include "vernier/data/random.h"
#include "vernier/error.h"
#include "vernier/model/index_range.h"
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

Inputs from_random(const InputOptions& options, std::span<const TensorSpec> inputs,
                   const std::filesystem::path& model) {
  RandomOptions random{.samples = options.sample_index
                                      ? std::numeric_limits<std::int64_t>::max()
                                      : options.samples.value_or(options.default_samples),
                       .seed = options.seed,
                       .shapes = parse_shapes(options, inputs),
                       .ranges = parse_ranges(options, inputs),
                       .distribution = options.distribution == "normal" ? Distribution::normal
                                                                        : Distribution::uniform};
  const bool has_integers =
      std::ranges::any_of(inputs, [](const auto& input) { return is_integer(input.dtype); });
  if (has_integers && model_format(model) == ModelFormat::onnx)
    random.index_lengths = index_lengths(Model::load(model));
  return {select(options, random_samples(inputs, random)),
          fmt::format("random {}, seed {}", options.distribution, options.seed),
          {}};
}

}  // namespace

void add_input_options(CLI::App& command, InputOptions& options) {
  const std::string group = "Inputs";
  command
      .add_option("--samples", options.samples,
                  fmt::format("Samples to run (random inputs: {} by default; a file: all)",
                              options.default_samples))
      ->check(at_least(1))
      ->type_name("N")
      ->group(group);
  command.add_option("--sample-index", options.sample_index, "Run only sample N, counting from 0")
      ->check(at_least(0))
      ->excludes("--samples")
      ->type_name("N")
      ->group(group);
  auto* seed = command.add_option("--seed", options.seed, "Seed of random inputs")
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
  auto* range = command
                    .add_option("--input-range", options.ranges,
                                "Range of an input's random values, as in image=0:255; of "
                                "integers the end is excluded; repeatable")
                    ->type_name("[NAME=]LOW:HIGH")
                    ->allow_extra_args(false)
                    ->group(group);
  auto* distribution =
      command.add_option("--input-dist", options.distribution, "Distribution of random floats")
          ->check(CLI::IsMember({"uniform", "normal"}))
          ->capture_default_str()
          ->group(group);
  command
      .add_option("--input-data", options.data,
                  "Real inputs: an .npz with an array for each input, its leading axis the "
                  "samples, or a folder of .npz files, one a sample")
      ->type_name("PATH")
      ->excludes(seed)
      ->excludes(range)
      ->excludes(distribution)
      ->group(group);
}

Inputs make_inputs(const InputOptions& options, std::span<const TensorSpec> inputs,
                   const std::filesystem::path& model) {
  return options.data.empty() ? from_random(options, inputs, model) : from_file(options, inputs);
}

void print_warnings(std::span<const std::string> warnings) {
  for (const std::string& warning : warnings) fmt::print(stderr, "warning: {}\n", warning);
}

}  // namespace vernier::cli
