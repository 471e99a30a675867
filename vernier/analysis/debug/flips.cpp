#include <algorithm>
#include <cmath>

#include "vernier/analysis/debug/switch_groups.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

constexpr std::int64_t most_flips = 8;
constexpr std::size_t most_paired = 10;

// The first output that holds a single row of scores. The answer is its argmax.
std::optional<std::size_t> answering_output(const std::vector<Tensor>& outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (is_float(outputs[i].dtype) && !outputs[i].shape.empty() && outputs[i].size() > 1 &&
        outputs[i].size() == outputs[i].shape.back())
      return i;
  return std::nullopt;
}

std::int64_t answer_of(const Tensor& output) {
  const std::vector<double> values = to_f64(output);
  return std::ranges::max_element(values) - values.begin();
}

// The score of the answer minus the largest other score; negative if it is not the argmax.
double margin_of(const Tensor& output, std::int64_t answer) {
  const std::vector<double> values = to_f64(output);
  double other = -INFINITY;
  for (std::int64_t i = 0; i < std::ssize(values); ++i)
    if (i != answer) other = std::max(other, values[static_cast<std::size_t>(i)]);
  return values[static_cast<std::size_t>(answer)] - other;
}

// Searches for the groups that restore the answer of one sample.
class FlipSearch {
 public:
  FlipSearch(const SwitchedGroups& model, const SwitchedNoise& noise, std::int64_t sample,
             std::size_t output, std::int64_t answer)
      : model_(model), noise_(noise), sample_(sample), output_(output), answer_(answer) {}

  // One group, two groups, or as many of those that help most as needed, without unnecessary ones;
  // empty if none restore the answer.
  GroupSet find() const {
    std::vector<double> margins;
    for (std::size_t i = 0; i < model_.groups.size(); ++i) margins.push_back(margin({i}));
    const GroupSet order = ranked(margins.size(), [&](std::size_t i) { return margins[i]; });
    if (margins[order[0]] > 0) return {order[0]};
    const std::size_t paired = std::min(order.size(), most_paired);
    for (std::size_t i = 0; i < paired; ++i)
      for (std::size_t j = i + 1; j < paired; ++j)
        if (margin({order[i], order[j]}) > 0) return {order[i], order[j]};
    GroupSet set;
    for (const std::size_t group : order) {
      set.push_back(group);
      if (set.size() > 2 && margin(set) > 0) return without_spare(std::move(set));
    }
    return {};
  }

 private:
  double margin(const GroupSet& off) const {
    const SwitchSettings settings = model_.with(model_.as_in_file, off, model_.off);
    return margin_of(noise_.outputs(sample_, settings)[output_], answer_);
  }

  GroupSet without_spare(GroupSet set) const {
    for (std::size_t i = set.size(); i-- > 0;) {
      GroupSet fewer = set;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      if (margin(fewer) > 0) set = std::move(fewer);
    }
    return set;
  }

  const SwitchedGroups& model_;
  const SwitchedNoise& noise_;
  std::int64_t sample_;
  std::size_t output_;
  std::int64_t answer_;
};

std::optional<std::int64_t> label_of(Samples& samples, std::int64_t sample) {
  const auto labels = samples.labels(sample);
  if (!labels || labels->size() != 1) return std::nullopt;
  return static_cast<std::int64_t>(to_f64(*labels)[0]);
}

}  // namespace

void explain_flips(const SwitchedGroups& model, const SwitchedNoise& noise, Samples& samples,
                   Sensitivity& result) {
  for (std::int64_t sample = 0; sample < noise.size(); ++sample) {
    const std::vector<Tensor> real = noise.outputs(sample, model.off);
    const auto output = answering_output(real);
    if (!output) return;
    const std::vector<Tensor> quantized = noise.outputs(sample, model.as_in_file);
    result.flips_looked_at = sample + 1;
    result.flips_given = samples.size();
    Flip flip{.sample = samples.number(sample),
              .output = real[*output].name,
              .real = answer_of(real[*output]),
              .quantized = answer_of(quantized[*output]),
              .label = label_of(samples, sample)};
    if (flip.real == flip.quantized) continue;
    if (++result.flips_changed > most_flips) continue;
    for (const std::size_t group : FlipSearch(model, noise, sample, *output, flip.real).find())
      flip.nodes.push_back(model.groups[group].node);
    result.flips.push_back(std::move(flip));
  }
}

}  // namespace vernier
