#include "vernier/analysis/inputs/pick_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <span>

#include "vernier/analysis/decoding/decoder_samples.h"
#include "vernier/analysis/evidence/calibration_fit.h"
#include "vernier/analysis/inputs/axis_sizes.h"
#include "vernier/analysis/inputs/bind_inputs.h"
#include "vernier/data/synthetic.h"
#include "vernier/error.h"
#include "vernier/model/index.h"
#include "vernier/model/input_kind.h"
#include "vernier/runtime/ort_runner.h"
#include "vernier/runtime/stopping.h"

namespace vernier {
namespace {

constexpr std::int64_t of_each_family = 12;
constexpr std::int64_t parents = 8;
constexpr std::int64_t children = 30;
constexpr int stages = 2;
constexpr std::int64_t default_count = 12;
constexpr std::int64_t other_count = 24;

// The limit of all samples kept in memory; those beyond it are made again on every request.
constexpr std::size_t kept_bytes = std::size_t{512} << 20;

// How a sample is made: drawn, or bred from two others.
struct Recipe {
  std::int64_t number = 0;
  ImageFamily family = image_families[0];
  std::shared_ptr<const Recipe> first = nullptr, second = nullptr;  // null if it is drawn
};
using SharedRecipe = std::shared_ptr<const Recipe>;

std::size_t bytes_of(std::span<const Tensor> sample) {
  std::size_t bytes = 0;
  for (const Tensor& tensor : sample) bytes += tensor.bytes.size();
  return bytes;
}

// Makes samples by recipes. A verdict may take many passes over the samples, and drawing one costs
// about as much as running a small network, so the first that fit into memory are kept.
class SampleMaker {
 public:
  explicit SampleMaker(SyntheticInputs inputs) : inputs_(std::move(inputs)) {}

  std::vector<Tensor> make(const SharedRecipe& recipe) {
    const std::lock_guard lock(mutex_);
    return make_or_find(recipe);
  }
  // Keeps these in preference to others: they will be requested many times.
  void prefer(std::span<const SharedRecipe> recipes) {
    const std::lock_guard lock(mutex_);
    const auto is_kept = [&](const SharedRecipe& recipe) { return kept_.contains(recipe); };
    if (std::ranges::all_of(recipes, is_kept)) return;
    drop_others(recipes);
    for (const SharedRecipe& recipe : recipes) make_or_find(recipe);
  }
  // Drops the others: they will not be requested again.
  void keep_only(std::span<const SharedRecipe> recipes) {
    const std::lock_guard lock(mutex_);
    drop_others(recipes);
  }

 private:
  void drop_others(std::span<const SharedRecipe> recipes) {
    std::erase_if(kept_, [&](const auto& each) {
      const bool dropped = std::ranges::find(recipes, each.first) == recipes.end();
      if (dropped) room_ += bytes_of(each.second);
      return dropped;
    });
  }

  std::vector<Tensor> make_or_find(const SharedRecipe& recipe) {
    if (const auto found = kept_.find(recipe); found != kept_.end()) return found->second;
    std::vector<Tensor> sample = recipe->first
                                     ? breed(inputs_, make_or_find(recipe->first),
                                             make_or_find(recipe->second), recipe->number)
                                     : draw_sample(inputs_, recipe->number, recipe->family);
    if (const std::size_t bytes = bytes_of(sample); bytes <= room_) {
      room_ -= bytes;
      kept_.emplace(recipe, sample);
    }
    return sample;
  }

  SyntheticInputs inputs_;
  std::mutex mutex_;
  std::size_t room_ = kept_bytes;
  std::map<SharedRecipe, std::vector<Tensor>> kept_;
};

// The synthetic inputs that fit a model's calibration ranges best.
struct PickedInputs {
  std::vector<SharedRecipe> samples;
  std::vector<SharedRecipe> others;  // the next best after `samples`
  // Of `samples`: "octave noise, blobs"; empty if no input is an image.
  std::string families;
  int stage = 0;     // 0: drawn; 1, 2: rounds of breeding from the best
  double score = 0;  // S of all samples together; 0 if the model has no quantizers
};

struct Candidate {
  SharedRecipe recipe;
  std::vector<QuantizerUse> uses;
  double score = 0;
};

// A sample is scored without the quantizer that it fits worst: if the range of that quantizer is
// too narrow, scoring by it would pick the samples that hide the fault.
class Picking {
 public:
  Picking(CalibrationProbe& probe, SampleMaker& maker, std::int64_t count)
      : probe_(probe), maker_(maker), count_(static_cast<std::size_t>(count)) {}

  void draw() {
    const auto families = std::ssize(image_families);
    const std::int64_t wanted = static_cast<std::int64_t>(count_) + other_count;
    const std::int64_t of_each = std::max(of_each_family, (wanted + families - 1) / families);
    for (const ImageFamily family : image_families)
      for (std::int64_t i = 0; i < of_each; ++i) add({.number = i, .family = family});
    sort();
  }

  void breed_from_best(int stage) {
    std::vector<SharedRecipe> best;
    for (std::int64_t i = 0; i < parents; ++i) best.push_back(pool_[i].recipe);
    maker_.prefer(best);
    for (std::int64_t i = 0; i < children; ++i) {
      const std::int64_t child = stage * children + i;
      const SharedRecipe first = pool_[child % parents].recipe;
      const SharedRecipe second = pool_[(child / parents + child + 1) % parents].recipe;
      add({.number = child, .family = first->family, .first = first, .second = second});
    }
    sort();
  }

  double score() const {
    std::vector<QuantizerUse> uses(probe_.quantizers());
    for (std::size_t i = 0; i < kept(); ++i)
      for (std::size_t j = 0; j < uses.size(); ++j) uses[j] = pool(uses[j], pool_[i].uses[j]);
    return probe_.fit(uses).score;
  }

  PickedInputs picked(int stage) const {
    PickedInputs picked{.stage = stage, .score = score()};
    std::vector<ImageFamily> families;
    for (std::size_t i = 0; i < std::min(kept() + other_count, pool_.size()); ++i)
      (i < kept() ? picked.samples : picked.others).push_back(pool_[i].recipe);
    for (const SharedRecipe& recipe : picked.samples)
      if (std::ranges::find(families, recipe->family) == families.end())
        families.push_back(recipe->family);
    for (const ImageFamily family : families)
      picked.families.append(picked.families.empty() ? "" : ", ").append(family_name(family));
    return picked;
  }

 private:
  std::size_t kept() const { return std::min(count_, pool_.size()); }

  void add(Recipe recipe) {
    const auto shared = std::make_shared<const Recipe>(std::move(recipe));
    CalibrationProbe::Sample run = probe_.run(maker_.make(shared));
    const double score = score_without_worst(probe_.ranges(run.uses));
    pool_.push_back({shared, std::move(run.uses), score});
  }

  void sort() { std::ranges::stable_sort(pool_, {}, &Candidate::score); }

  CalibrationProbe& probe_;
  SampleMaker& maker_;
  std::size_t count_;
  std::vector<Candidate> pool_;
};

bool has_images(const SyntheticInputs& inputs) {
  return std::ranges::any_of(inputs.kinds,
                             [](const InputKind& kind) { return kind.role == InputRole::image; });
}

class MadeSamples : public Samples {
 public:
  MadeSamples(std::vector<SharedRecipe> recipes, std::shared_ptr<SampleMaker> maker,
              std::unique_ptr<Samples> others = nullptr)
      : recipes_(std::move(recipes)), maker_(std::move(maker)), others_(std::move(others)) {}
  std::int64_t size() const override { return std::ssize(recipes_); }
  std::vector<Tensor> sample(std::int64_t index) override { return maker_->make(recipes_[index]); }
  Samples* others() override { return others_.get(); }

 private:
  std::vector<SharedRecipe> recipes_;
  std::shared_ptr<SampleMaker> maker_;
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

// Whether both models run on these inputs. The reference may be null.
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
  } catch (const Stopped&) {
    throw;
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

// Draws at least twelve samples of each image family and keeps those whose own S, without the
// quantizer that they fit worst, is lowest. While S of all kept samples is above the limit, breeds
// thirty more from the best eight, at most twice: 72 to 132 runs by default. If there are no images
// or no quantizers, samples are drawn and not picked. The same seed gives the same bytes. The
// `others` are two for each sample that is picked by default: a picked sample fills the ranges
// alone, as the loudest calibration data do, and has more signal than most.
PickedInputs pick_inputs(CalibrationProbe& probe, SampleMaker& maker, bool has_images,
                         std::int64_t count) {
  if (!has_images || probe.quantizers() == 0) {
    PickedInputs drawn;
    for (std::int64_t i = 0; i < count; ++i)
      drawn.samples.push_back(std::make_shared<const Recipe>(
          Recipe{.number = i, .family = image_families[i % std::ssize(image_families)]}));
    if (has_images) drawn.families = "all families in turn";
    return drawn;
  }
  Picking picking(probe, maker, count);
  picking.draw();
  int stage = 0;
  for (; stage < stages && !(picking.score() <= fitting_score); ++stage)
    picking.breed_from_best(stage);
  return picking.picked(stage);
}

// The candidate's, and those of the reference for inputs of integers: what these are for shows in
// constants, which a candidate may have quantized or lost.
std::vector<InputKind> kinds_of(const Model& candidate, const Model* reference) {
  std::vector<InputKind> kinds = input_kinds(candidate);
  if (!reference) return kinds;
  const std::vector<TensorSpec> inputs = candidate.inputs(), expected = reference->inputs();
  const std::vector<InputKind> known = input_kinds(*reference);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto at = std::ranges::find(expected, inputs[i].name, &TensorSpec::name);
    if (is_float(inputs[i].dtype) || at == expected.end()) continue;
    InputKind kind = known[static_cast<std::size_t>(at - expected.begin())];
    if (kind.role == InputRole::values) continue;
    if (kind.range && kinds[i].range)  // a table of the candidate may be shorter
      kind.range->high = std::min(kind.range->high, kinds[i].range->high);
    kinds[i] = std::move(kind);
  }
  return kinds;
}

}  // namespace

bool is_automatic(const InputSpec& spec) { return !are_given(spec) && !spec.distribution; }

Inputs automatic_inputs(const InputTarget& target, const ModelIndex& candidate,
                        const ModelIndex* reference_index, const InputSpec& spec,
                        const OrtOptions& runtime) {
  require_consistent(spec);
  if (auto sequences = decoder_samples(target, spec)) return std::move(*sequences);
  const Model* reference = reference_index ? &reference_index->model() : nullptr;
  const std::vector<TensorSpec> inputs = known_inputs(target);
  const std::vector<InputKind> kinds = kinds_of(candidate.model(), reference);
  const RandomOptions random{.seed = spec.seed,
                             .shapes = shapes_of(spec, inputs),
                             .ranges = ranges_of(spec, inputs),
                             .index_lengths = index_lengths(candidate.model())};
  CalibrationProbe probe(candidate, reference_index, runtime);
  const auto planned = [&](const std::map<std::string, Shape>& shapes) {
    RandomOptions sized_draws = random;
    sized_draws.shapes = shapes;
    SyntheticInputs synthetic = {plan_draws(inputs, sized_draws), kinds, spec.seed};
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (random.ranges.contains(inputs[i].name)) synthetic.kinds[i].range.reset();
    set_constants(synthetic, inputs, target.io);
    return synthetic;
  };
  SyntheticInputs synthetic =
      planned(open_shapes(inputs, kinds, random.shapes, [&](const auto& shapes) {
        return can_run(probe, target, reference, runtime, planned(shapes));
      }));
  const std::int64_t index = spec.sample_index.value_or(0), steps = target.io.steps;
  const std::int64_t count = spec.samples.value_or(std::max(default_count, index + 1));
  const bool images = has_images(synthetic);
  const auto maker = std::make_shared<SampleMaker>(std::move(synthetic));
  PickedInputs picked = pick_inputs(probe, *maker, images, count * steps);
  std::vector<SharedRecipe> used = picked.samples;
  used.insert(used.end(), picked.others.begin(), picked.others.end());
  maker->keep_only(used);
  Inputs result{.description = describe(picked, probe.quantizers() > 0, spec.seed)};
  std::unique_ptr<Samples> others;
  if (!picked.others.empty())
    others = std::make_unique<MadeSamples>(std::move(picked.others), maker);
  result.samples =
      std::make_unique<MadeSamples>(std::move(picked.samples), maker, std::move(others));
  if (spec.sample_index)
    result.samples = select_samples(std::move(result.samples), index * steps, steps);
  return result;
}

Inputs automatic_inputs(const ModelIndex& candidate, const ModelIndex* reference,
                        const InputSpec& spec, const OrtOptions& runtime) {
  const std::vector<TensorSpec> inputs = candidate.model().inputs();
  return automatic_inputs({.inputs = inputs, .onnx = &candidate.model()}, candidate, reference,
                          spec, runtime);
}

}  // namespace vernier
