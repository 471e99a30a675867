#include "vernier/analysis/inputs/inputs.h"

#include <fmt/format.h>

#include <algorithm>

#include "vernier/analysis/decoding/decoder_samples.h"
#include "vernier/analysis/inputs/axis_sizes.h"
#include "vernier/analysis/inputs/bind_inputs.h"
#include "vernier/data/dataset.h"
#include "vernier/data/dataset_samples.h"
#include "vernier/data/input_shape.h"
#include "vernier/data/npz_batches.h"
#include "vernier/error.h"
#include "vernier/model/input_kind.h"
#include "vernier/runtime/ort_runner.h"
#include "vernier/runtime/stopping.h"
#include "vernier/tensor/npz.h"
#include "vernier/tensor/parse_number.h"
#include "vernier/tensor/sample_archive.h"

namespace vernier {
namespace {

// NAME=VALUE, or VALUE alone. The last '=' counts: names may hold one too.
std::pair<std::string, std::string_view> split_name(std::string_view text) {
  const std::size_t equals = text.rfind('=');
  if (equals == text.npos) return {"", text};
  return {std::string(text.substr(0, equals)), text.substr(equals + 1)};
}

// The values by input name.
template <typename Value>
std::map<std::string, Value> by_input(std::map<std::string, Value> values,
                                      std::span<const TensorSpec> inputs, std::string_view option) {
  auto unnamed = values.extract("");
  if (unnamed.empty()) return values;
  if (inputs.size() != 1)
    throw Error(fmt::format("[inputs] {}: the model has {} inputs; say which one, as in {} {}=...",
                            option, inputs.size(), option,
                            inputs.empty() ? "NAME" : inputs[0].name));
  values.insert_or_assign(inputs[0].name, std::move(unnamed.mapped()));
  return values;
}

// Selects the samples that the spec asks for; each takes `steps` of `all`.
std::unique_ptr<Samples> select(const InputSpec& spec, std::unique_ptr<Samples> all,
                                std::int64_t steps) {
  const std::int64_t size = all->size() / steps;
  const std::int64_t first = spec.sample_index.value_or(0);
  const std::int64_t asked = spec.sample_index ? 1 : spec.samples.value_or(size);
  const std::int64_t count = asked == all_samples ? size : asked;
  if (steps > 1 && (first > size || count > size - first))
    throw Error(
        fmt::format("[inputs] {} sequences of {} steps from number {} were asked for, there are "
                    "{}; pass smaller --samples, --sample-index or --steps",
                    count, steps, first, size));
  return select_samples(std::move(all), first * steps, count * steps);
}

// Samples of some inputs, and constant values for the others.
class WithConstants : public Samples {
 public:
  WithConstants(std::unique_ptr<Samples> drawn, const std::vector<TensorSpec>& inputs,
                std::map<std::string, Shape> shapes,
                std::map<std::string, std::vector<double>> values)
      : drawn_(std::move(drawn)),
        inputs_(inputs),
        shapes_(std::move(shapes)),
        values_(std::move(values)) {}

  std::int64_t size() const override { return drawn_->size(); }
  std::int64_t number(std::int64_t index) const override { return drawn_->number(index); }
  std::vector<Tensor> sample(std::int64_t index) override {
    std::map<std::string, Shape> known = shapes_;
    std::map<std::string, Tensor> tensors;
    for (Tensor& tensor : drawn_->sample(index)) {
      if (values_.contains(tensor.name)) continue;
      known.insert_or_assign(tensor.name, tensor.shape);
      tensors.emplace(tensor.name, std::move(tensor));
    }
    std::vector<Tensor> sample;
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      if (const auto values = values_.find(inputs_[i].name); values == values_.end())
        sample.push_back(std::move(tensors.at(inputs_[i].name)));
      else
        sample.push_back(
            constant_tensor(inputs_[i], resolve_shape(i, inputs_, known), values->second));
    return sample;
  }

 private:
  std::unique_ptr<Samples> drawn_;
  std::vector<TensorSpec> inputs_;
  std::map<std::string, Shape> shapes_;  // given by the user
  std::map<std::string, std::vector<double>> values_;
};

Inputs from_file(const InputTarget& target, const InputSpec& spec) {
  NpzBatches batches =
      npz_batches(spec.data, target.inputs, shapes_of(spec, target.inputs), target.io.inputs);
  const std::int64_t steps = target.io.steps, rest = batches.samples->size() % steps;
  if (batches.samples->size() < steps)
    throw Error(fmt::format("[inputs] {}: holds {} runs, a sequence has {} steps; pass --steps {}",
                            spec.data.filename().string(), batches.samples->size(), steps,
                            batches.samples->size()));
  if (rest != 0)
    batches.warnings.push_back({.kind = WarningKind::leftover_runs,
                                .other = spec.data.filename().string(),
                                .value = static_cast<double>(rest),
                                .limit = static_cast<double>(batches.samples->size()),
                                .more = {std::to_string(steps)}});
  return {select(spec, std::move(batches.samples), steps), spec.data.filename().string(),
          std::move(batches.warnings)};
}

// The positions of the examples in the requested samples; each sample takes `batch` examples.
std::vector<std::int64_t> dataset_positions(const InputSpec& spec, std::int64_t size,
                                            std::int64_t batch) {
  const std::int64_t first = spec.sample_index.value_or(0);
  const std::int64_t count = spec.sample_index ? 1 : spec.samples.value_or(spec.default_samples);
  if (first >= size / batch && spec.sample_index)
    throw Error(
        fmt::format("[inputs] --sample-index {}: the dataset has {} samples", first, size / batch));
  const auto all =
      select_positions(size, {.shuffle = spec.dataset.shuffle.value_or(false), .seed = spec.seed});
  const auto begin = all.begin() + first * batch;
  return {begin, count < (all.end() - begin) / batch ? begin + count * batch : all.end()};
}

Inputs from_dataset(const InputTarget& target, const InputSpec& spec) {
  auto dataset = open_dataset(spec.dataset.name, spec.dataset.options);
  const std::int64_t batch =
      target.inputs.empty() ? 1 : batch_size(target.inputs[0], spec.dataset.batch);
  SampleOrder order{.examples = dataset->size(),
                    .first = spec.sample_index.value_or(0),
                    .batch = batch,
                    .shuffled = spec.dataset.shuffle.value_or(false)};
  if (order.shuffled) order.seed = spec.seed;
  const auto positions = dataset_positions(spec, dataset->size(), batch * target.io.steps);
  DatasetSamples made = dataset_samples(std::move(dataset), positions, target.inputs,
                                        loader_options(spec.dataset, target.path));
  return {std::move(made.samples), describe_dataset(spec.dataset, spec.seed),
          dataset_warnings(made.report), order};
}

// Floats that have a range are uniform, unless the spec says otherwise.
Distribution distribution_of(const InputSpec& spec, std::span<const TensorSpec> inputs,
                             const std::map<std::string, DrawRange>& ranges) {
  const bool in_range = std::ranges::any_of(inputs, [&](const TensorSpec& input) {
    return is_float(input.dtype) && ranges.contains(input.name);
  });
  return spec.distribution.value_or(in_range ? Distribution::uniform : spec.default_distribution);
}

// Adds sizes, with which the model runs, for axes of an ONNX model that nobody gave.
std::map<std::string, Shape> shapes_to_draw(const InputTarget& target,
                                            const RandomOptions& random) {
  if (!target.onnx || target.onnx->inputs().size() != target.inputs.size()) return random.shapes;
  std::optional<OrtRunner> runner;
  const auto runs = [&](const std::map<std::string, Shape>& shapes) {
    try {
      if (!runner) runner.emplace(target.onnx->clone(), OrtOptions{});
      RandomOptions sized = random;
      sized.shapes = shapes;
      runner->run(random_samples(target.inputs, sized)->sample(0));
      return true;
    } catch (const Stopped&) {
      throw;
    } catch (const Error&) {
      return false;
    }
  };
  return open_shapes(target.inputs, input_kinds(*target.onnx), random.shapes, runs);
}

Inputs from_random(const InputTarget& target, const InputSpec& spec) {
  const auto ranges = ranges_of(spec, target.inputs);
  const std::int64_t steps = target.io.steps;
  RandomOptions random{.samples = spec.sample_index
                                      ? all_samples
                                      : steps * spec.samples.value_or(spec.default_samples),
                       .seed = spec.seed,
                       .shapes = shapes_of(spec, target.inputs),
                       .ranges = ranges,
                       .distribution = distribution_of(spec, target.inputs, ranges)};
  const bool has_integers =
      std::ranges::any_of(target.inputs, [](const auto& input) { return is_integer(input.dtype); });
  if (has_integers && target.onnx) random.index_lengths = index_lengths(*target.onnx);
  random.shapes = shapes_to_draw(target, random);
  const bool normal = random.distribution == Distribution::normal;
  return {select(spec, random_samples(target.inputs, random), steps),
          fmt::format("random {}, seed {}", normal ? "normal" : "uniform", spec.seed),
          {}};
}

Inputs make(const InputTarget& target, const InputSpec& spec) {
  if (!spec.dataset.name.empty()) return from_dataset(target, spec);
  if (!spec.data.empty()) return from_file(target, spec);
  return from_random(target, spec);
}

const std::string& name_of(const TensorSpec& input) { return input.name; }
const std::string& name_of(const std::pair<const std::string, Shape>& shape) { return shape.first; }

// The mapping, extended by the reference's name of every bound input, even those bound by position:
// a file may use these names.
IoMapping with_bound_names(const InputTarget& target) {
  IoMapping io = target.io;
  if (target.reference.empty()) return io;
  const InputBindings bindings = bind_inputs(target.inputs, target.reference, target.io);
  for (std::size_t i = 0; i < bindings.inputs.size(); ++i)
    if (const int source = bindings.inputs[i].source; source >= 0)
      io.inputs.emplace(target.reference[i].name, target.inputs[source].name);
  return io;
}

// The inputs of the target that are not drawn. State that the file holds starts as in the file.
std::map<std::string, std::vector<double>> values_of(const InputTarget& target,
                                                     const InputSpec& spec) {
  auto values = initial_values(target.io);
  std::erase_if(values, [&](const auto& value) {
    return std::ranges::find(target.inputs, value.first, &TensorSpec::name) == target.inputs.end();
  });
  if (!spec.data.empty() && !target.io.feedback.empty()) {
    const SampleArchive archive(spec.data);
    for (const Feedback& state : target.io.feedback)
      if (archive.has(state.input) && !target.io.constants.contains(state.input))
        values.erase(state.input);
  }
  return values;
}

}  // namespace

bool InputSpec::is_default() const {
  return !samples && !sample_index && shapes.empty() && ranges.empty() && data.empty() &&
         dataset.name.empty() && !distribution && seed == InputSpec{}.seed;
}

bool are_given(const InputSpec& spec) {
  return !spec.data.empty() || !spec.dataset.name.empty() || !spec.tokens.empty();
}

bool has_real_inputs(const InputSpec& spec) {
  const bool is_archive =
      spec.data.extension() == ".npz" && std::filesystem::is_regular_file(spec.data);
  return are_given(spec) && !(is_archive && NpzReader(spec.data).comment() == synthetic_comment);
}

std::int64_t parse_samples(std::string_view text) {
  if (text == "all") return all_samples;
  const auto count = parse_number<std::int64_t>(text);
  if (!count || *count < 1)
    throw Error(fmt::format(
        "[inputs] --samples: expected a whole number of at least 1, or all; found '{}'", text));
  return *count;
}

std::vector<TokenPlace> parse_token_places(std::string_view text) {
  std::vector<TokenPlace> places;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view name = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
    const auto number = parse_number<std::int64_t>(name);
    if (number && *number >= 0)
      places.push_back({TokenPlace::Kind::number, *number});
    else if (name == "first" || name == "last" || name == "worst")
      places.push_back({name == "first"  ? TokenPlace::Kind::first
                        : name == "last" ? TokenPlace::Kind::last
                                         : TokenPlace::Kind::worst});
    else
      throw Error(fmt::format(
          "[inputs] --at {}: expected first, last, worst or numbers from 0, with commas", text));
  }
  return places;
}

std::pair<std::string, Shape> parse_input_shape(std::string_view text) {
  auto [name, rest] = split_name(text);
  Shape shape;
  for (bool more = !rest.empty(); more;) {
    const std::size_t cross = rest.find('x');
    const auto dim = parse_number<std::int64_t>(rest.substr(0, cross));
    if (!dim || *dim < 1)
      throw Error(fmt::format(
          "[inputs] --shape {}: expected dimensions of at least 1, like 1x3x224x224", text));
    shape.push_back(*dim);
    more = cross != rest.npos;
    if (more) rest.remove_prefix(cross + 1);
  }
  return {name, shape};
}

std::pair<std::string, DrawRange> parse_input_range(std::string_view text) {
  const auto [name, range] = split_name(text);
  const std::size_t colon = range.find(':');
  const auto low = parse_number<double>(range.substr(0, colon));
  const auto high =
      colon == range.npos ? std::nullopt : parse_number<double>(range.substr(colon + 1));
  if (!low || !high)
    throw Error(fmt::format("[inputs] --input-range {}: expected LOW:HIGH, as in 0:255", text));
  return {name, {*low, *high}};
}

void require_consistent(const InputSpec& spec) {
  const auto refuse_together = [](bool both, std::string_view first, std::string_view others) {
    if (both)
      throw Error(fmt::format("[inputs] {} does not go with {}; leave one out", first, others));
  };
  const bool draws = !spec.ranges.empty() || spec.distribution;
  const bool file = !spec.data.empty();
  const bool dataset = !spec.dataset.name.empty();
  refuse_together(spec.samples && spec.sample_index, "--samples", "--sample-index");
  refuse_together(file && draws, "--input-data", "--input-range or --inputs");
  refuse_together(dataset && (draws || file || !spec.shapes.empty()), "--dataset",
                  "--input-data, --shape, --input-range or --inputs");
  refuse_together(!spec.tokens.empty() && (draws || file || dataset || !spec.shapes.empty()),
                  "--text", "--input-data, --dataset, --shape, --input-range or --inputs");
  if (spec.samples == all_samples && !file && !dataset && spec.tokens.empty())
    throw Error(
        "[inputs] --samples all: random inputs have no end; give a number, --input-data or "
        "--dataset");
}

std::map<std::string, Shape> shapes_of(const InputSpec& spec, std::span<const TensorSpec> inputs) {
  return by_input(spec.shapes, inputs, "--shape");
}

std::map<std::string, DrawRange> ranges_of(const InputSpec& spec,
                                           std::span<const TensorSpec> inputs) {
  return by_input(spec.ranges, inputs, "--input-range");
}

std::vector<TensorSpec> known_inputs(const InputTarget& target) {
  if (target.reference.empty()) return {target.inputs.begin(), target.inputs.end()};
  return with_static_dims(target.inputs, target.reference,
                          bind_inputs(target.inputs, target.reference, target.io));
}

Inputs make_inputs(const InputTarget& target, const InputSpec& spec) {
  require_consistent(spec);
  if (auto sequences = decoder_samples(target, spec)) return std::move(*sequences);
  const std::vector<TensorSpec> inputs = known_inputs(target);
  auto values = values_of(target, spec);
  const IoMapping io = with_bound_names(target);
  if (values.empty()) return make({inputs, target.path, target.onnx, io}, spec);
  const auto is_constant = [&](const auto& input) { return values.contains(name_of(input)); };
  std::vector<TensorSpec> drawn = inputs;
  const bool random = spec.dataset.name.empty() && spec.data.empty();
  if (!random) std::erase_if(drawn, is_constant);
  const std::map<std::string, Shape> shapes = shapes_of(spec, drawn);
  InputSpec named = spec;
  named.shapes = shapes;
  if (!random) std::erase_if(named.shapes, is_constant);
  Inputs made = make({drawn, target.path, target.onnx, io}, named);
  made.samples =
      std::make_unique<WithConstants>(std::move(made.samples), inputs, shapes, std::move(values));
  return made;
}

Inputs make_inputs(const Model& model, const InputSpec& spec, const IoMapping& io,
                   std::span<const TensorSpec> reference) {
  const std::vector<TensorSpec> inputs = model.inputs();
  return make_inputs({inputs, model.path(), &model, io, reference}, spec);
}

}  // namespace vernier
