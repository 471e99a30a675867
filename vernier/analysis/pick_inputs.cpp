#include "vernier/analysis/pick_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "vernier/analysis/bind_inputs.h"
#include "vernier/analysis/decoding/decoder_samples.h"
#include "vernier/error.h"
#include "vernier/model/input_kind.h"
#include "vernier/runtime/ort_runner.h"

namespace vernier {
namespace {

constexpr std::int64_t of_each_family = 12;
constexpr std::int64_t parents = 8;
constexpr std::int64_t children = 30;
constexpr int stages = 2;
constexpr std::int64_t default_count = 12;
constexpr std::int64_t other_count = 24;

struct Candidate {
  std::vector<Tensor> sample;
  std::vector<QuantizerUse> uses;
  double score = 0;
  std::string family;
};

// A sample is scored without the quantizer that it fits worst: were that one's range too narrow,
// picking by it would choose the samples that hide it.
class Picking {
 public:
  Picking(CalibrationProbe& probe, const SyntheticInputs& inputs, std::int64_t count)
      : probe_(probe), inputs_(inputs), count_(static_cast<std::size_t>(count)) {}

  void draw() {
    const auto families = std::ssize(image_families);
    const std::int64_t wanted = static_cast<std::int64_t>(count_) + other_count;
    const std::int64_t of_each = std::max(of_each_family, (wanted + families - 1) / families);
    for (const ImageFamily family : image_families)
      for (std::int64_t i = 0; i < of_each; ++i)
        add(draw_sample(inputs_, i, family), std::string(family_name(family)));
    sort();
  }

  void breed_from_best(int stage) {
    for (std::int64_t i = 0; i < children; ++i) {
      const std::int64_t child = stage * children + i;
      const Candidate& first = pool_[child % parents];
      const Candidate& second = pool_[(child / parents + child + 1) % parents];
      add(breed(inputs_, first.sample, second.sample, child), first.family);
    }
    sort();
  }

  double score() const {
    std::vector<QuantizerUse> uses(probe_.quantizers());
    for (std::size_t i = 0; i < kept(); ++i)
      for (std::size_t j = 0; j < uses.size(); ++j) uses[j] = pool(uses[j], pool_[i].uses[j]);
    return probe_.fit(uses).score;
  }

  PickedInputs picked(int stage) {
    PickedInputs picked{.stage = stage, .score = score()};
    std::vector<std::string> families;
    for (std::size_t i = 0; i < kept(); ++i) {
      picked.samples.push_back(std::move(pool_[i].sample));
      if (std::ranges::find(families, pool_[i].family) == families.end())
        families.push_back(pool_[i].family);
    }
    for (std::size_t i = kept(); i < std::min(kept() + other_count, pool_.size()); ++i)
      picked.others.push_back(std::move(pool_[i].sample));
    for (const std::string& family : families)
      picked.families += (picked.families.empty() ? "" : ", ") + family;
    return picked;
  }

 private:
  std::size_t kept() const { return std::min(count_, pool_.size()); }

  void add(std::vector<Tensor> sample, std::string family) {
    CalibrationProbe::Sample run = probe_.run(sample);
    const double score = score_without_worst(probe_.ranges(run.uses));
    pool_.push_back({std::move(sample), std::move(run.uses), score, std::move(family)});
  }

  void sort() { std::ranges::stable_sort(pool_, {}, &Candidate::score); }

  CalibrationProbe& probe_;
  const SyntheticInputs& inputs_;
  std::size_t count_;
  std::vector<Candidate> pool_;
};

bool has_images(const SyntheticInputs& inputs) {
  return std::ranges::any_of(inputs.kinds,
                             [](const InputKind& kind) { return kind.role == InputRole::image; });
}

class KeptSamples : public Samples {
 public:
  explicit KeptSamples(std::vector<std::vector<Tensor>> samples,
                       std::unique_ptr<Samples> others = nullptr)
      : samples_(std::move(samples)), others_(std::move(others)) {}
  std::int64_t size() const override { return std::ssize(samples_); }
  std::vector<Tensor> sample(std::int64_t index) override { return samples_[index]; }
  Samples* others() override { return others_.get(); }

 private:
  std::vector<std::vector<Tensor>> samples_;
  std::unique_ptr<Samples> others_;
};

// "synthetic, octave noise, stage 1, S 0.38, seed 42"
std::string describe(const PickedInputs& picked, bool quantized, std::uint64_t seed) {
  std::string text = "synthetic";
  if (!picked.families.empty()) text += ", " + picked.families;
  if (quantized && !picked.families.empty())
    text += fmt::format(", stage {}, S {:.2f}", picked.stage, picked.score);
  return text + fmt::format(", seed {}", seed);
}

// Of the axes that a model leaves open: the sides of a picture, and the length of a sound, in
// samples at 16 kHz.
struct OpenSizes {
  std::int64_t side = 0, length = 0;
};
// A model takes the first that it can run on: one pixel is no picture, and 32 ms are little sound.
constexpr std::array<OpenSizes, 3> open_sizes = {{{224, 16000}, {64, 4096}, {32, 512}}};

// The size of each open axis of an input; nothing: none of it is open, or it is something else.
std::optional<Shape> sized(const TensorSpec& input, const InputKind& kind, OpenSizes open) {
  const std::vector<Dim>& dims = input.shape;
  if (kind.role != InputRole::image && kind.role != InputRole::audio) return std::nullopt;
  const bool is_image = kind.role == InputRole::image;
  const std::size_t first = !is_image ? dims.size() - 1 : kind.channels_last ? 1 : 2;
  const std::size_t end = is_image ? first + 2 : dims.size();
  Shape shape;
  bool is_open = false;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const bool counts = i >= first && i < end;
    const std::int64_t size = counts ? (is_image ? open.side : open.length) : 1;
    shape.push_back(dims[i].is_dynamic() ? size : dims[i].size);
    is_open |= counts && dims[i].is_dynamic();
  }
  return is_open ? std::optional(shape) : std::nullopt;
}

// Whether both models run on such inputs. The reference may be null.
bool can_run(CalibrationProbe& probe, const InputTarget& target, const Model* reference,
             const OrtOptions& runtime, const SyntheticInputs& inputs) {
  try {
    const std::vector<Tensor> sample = draw_sample(inputs, 0, image_families[0]);
    probe.run(sample);
    if (!reference) return true;
    OrtRunner beside(reference->clone(), runtime);
    const InputBindings bindings =
        bind_inputs(target.onnx->inputs(), reference->inputs(), target.io);
    beside.run(apply_bindings(bindings, beside.inputs(), sample));
    return true;
  } catch (const Error&) {
    return false;
  }
}

void set_constants(SyntheticInputs& synthetic, std::span<const TensorSpec> inputs,
                   const IoMapping& io) {
  const auto values = initial_values(io);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (const auto found = values.find(inputs[i].name); found != values.end())
      synthetic.constants.emplace(
          i, constant_tensor(inputs[i], synthetic.draws[i].shape, found->second));
}

}  // namespace

PickedInputs pick_inputs(CalibrationProbe& probe, const SyntheticInputs& inputs,
                         std::int64_t count) {
  if (!has_images(inputs) || probe.quantizers() == 0) {
    PickedInputs drawn;
    for (std::int64_t i = 0; i < count; ++i)
      drawn.samples.push_back(
          draw_sample(inputs, i, image_families[i % std::ssize(image_families)]));
    if (has_images(inputs)) drawn.families = "all families in turn";
    return drawn;
  }
  Picking picking(probe, inputs, count);
  picking.draw();
  int stage = 0;
  for (; stage < stages && !(picking.score() <= fitting_score); ++stage)
    picking.breed_from_best(stage);
  return picking.picked(stage);
}

bool is_automatic(const InputSpec& spec) { return !has_real_inputs(spec) && !spec.distribution; }

Inputs automatic_inputs(const InputTarget& target, const Model* reference, const InputSpec& spec,
                        const OrtOptions& runtime) {
  require_consistent(spec);
  if (auto sequences = decoder_samples(target, spec)) return std::move(*sequences);
  const Model& candidate = *target.onnx;
  const std::vector<TensorSpec> inputs = known_inputs(target);
  const std::vector<InputKind> kinds = input_kinds(candidate);
  const RandomOptions random{.seed = spec.seed,
                             .shapes = shapes_of(spec, inputs),
                             .ranges = ranges_of(spec, inputs),
                             .index_lengths = index_lengths(candidate)};
  CalibrationProbe probe(candidate, reference, runtime);
  SyntheticInputs synthetic;
  for (const OpenSizes& open : open_sizes) {
    RandomOptions sized_draws = random;
    bool is_open = false;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (const auto shape = sized(inputs[i], kinds[i], open))
        is_open |= sized_draws.shapes.emplace(inputs[i].name, *shape).second;
    synthetic = {plan_draws(inputs, sized_draws), kinds, spec.seed};
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (random.ranges.contains(inputs[i].name)) synthetic.kinds[i].range.reset();
    set_constants(synthetic, inputs, target.io);
    if (!is_open || can_run(probe, target, reference, runtime, synthetic)) break;
  }
  const std::int64_t index = spec.sample_index.value_or(0), steps = target.io.steps;
  const std::int64_t count = spec.samples.value_or(std::max(default_count, index + 1));
  PickedInputs picked = pick_inputs(probe, synthetic, count * steps);
  Inputs result{.description = describe(picked, probe.quantizers() > 0, spec.seed)};
  std::unique_ptr<Samples> others;
  if (!picked.others.empty()) others = std::make_unique<KeptSamples>(std::move(picked.others));
  result.samples = std::make_unique<KeptSamples>(std::move(picked.samples), std::move(others));
  if (spec.sample_index)
    result.samples = select_samples(std::move(result.samples), index * steps, steps);
  return result;
}

Inputs automatic_inputs(const Model& candidate, const Model* reference, const InputSpec& spec,
                        const OrtOptions& runtime) {
  const std::vector<TensorSpec> inputs = candidate.inputs();
  return automatic_inputs({.inputs = inputs, .onnx = &candidate}, reference, spec, runtime);
}

}  // namespace vernier
