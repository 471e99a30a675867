#include "vernier/analysis/pairing/by_value.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <unordered_set>

#include "vernier/analysis/pairing/thresholds.h"
#include "vernier/metrics/kernels.h"
#include "vernier/metrics/similarity.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

std::size_t width(const TensorView& tensor) { return bits(tensor.dtype) / 8; }

// Masks and zeros do not tell where they come from.
bool is_constant(const TensorView& tensor) {
  const std::size_t bytes = tensor.bytes.size(), element = width(tensor);
  return std::memcmp(tensor.bytes.data(), tensor.bytes.data() + element, bytes - element) == 0;
}

// `likeness_places` elements at equal distances.
Tensor thinned(const TensorView& tensor) {
  Tensor out = make_tensor("", tensor.dtype, {likeness_places});
  const std::int64_t stride = tensor.size() / likeness_places;
  for (std::int64_t i = 0; i < likeness_places; ++i)
    std::memcpy(out.bytes.data() + i * width(tensor),
                tensor.bytes.data() + i * stride * width(tensor), width(tensor));
  return out;
}

// The number of elements of the last axes that both shapes have.
std::int64_t common_suffix(std::span<const std::int64_t> left,
                           std::span<const std::int64_t> right) {
  std::int64_t count = 1;
  for (std::size_t i = 1; i <= std::min(left.size(), right.size()); ++i) {
    if (left[left.size() - i] != right[right.size() - i]) break;
    count *= left[left.size() - i];
  }
  return count;
}

// Whether each row of `part` stands at the same place in each row of `whole`. The place is a
// multiple of `step` elements.
bool is_part_of_rows(std::span<const double> part, std::span<const double> whole, std::int64_t rows,
                     std::int64_t step) {
  const std::size_t size = part.size() / rows, all = whole.size() / rows;
  double largest = 0;
  for (const double value : part) largest = std::max(largest, std::abs(value));
  const auto is_at = [&](std::size_t offset) {
    for (std::size_t i = 0; i < part.size(); ++i)
      if (!(std::abs(part[i] - whole[i / size * all + offset + i % size]) <=
            rounding_of_largest * largest))
        return false;
    return true;
  };
  const auto stride = std::gcd(static_cast<std::size_t>(step), size);
  for (std::size_t offset = 0; offset + size <= all; offset += stride)
    if (is_at(offset)) return true;
  return false;
}

// The layers that a tensor may belong to: those strictly between two indices.
struct Window {
  std::ptrdiff_t after = -1;
  std::ptrdiff_t before = std::numeric_limits<std::ptrdiff_t>::max();
};

// Iterates to a fixed point, because subgraphs are listed behind the nodes that read their results.
std::vector<Window> windows(std::span<const Placement> placements,
                            std::span<const CandidateTensor> tensors) {
  std::vector<Window> claimed(tensors.size()), found(tensors.size());
  for (std::size_t layer = 0; layer < placements.size(); ++layer)
    if (const auto tensor = placements[layer].tensor) {
      const auto number = static_cast<std::ptrdiff_t>(layer);
      claimed[*tensor].after = std::max(claimed[*tensor].after, number);
      claimed[*tensor].before = std::min(claimed[*tensor].before, number);
    }
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 0; i < tensors.size(); ++i)
      for (const std::size_t input : tensors[i].inputs) {
        const std::ptrdiff_t after = std::max(claimed[input].after, found[input].after);
        if (after > found[i].after) changed = true, found[i].after = after;
      }
    for (std::size_t i = tensors.size(); i-- > 0;)
      for (const std::size_t input : tensors[i].inputs) {
        const std::ptrdiff_t before = std::min(claimed[i].before, found[i].before);
        if (before < found[input].before) changed = true, found[input].before = before;
      }
  }
  return found;
}

// For each tensor, the best likeness of any tensor that is computed from it.
std::vector<double> likeness_downstream(std::span<const CandidateTensor> tensors,
                                        std::span<const Likeness> likenesses) {
  constexpr double none = -std::numeric_limits<double>::infinity();
  std::vector<double> own(tensors.size(), none), downstream(tensors.size(), none);
  for (const Likeness& likeness : likenesses)
    own[likeness.pair.tensor] = std::max(own[likeness.pair.tensor], likeness.sqnr_db);
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = tensors.size(); i-- > 0;)
      for (const std::size_t input : tensors[i].inputs) {
        const double found = std::max(own[i], downstream[i]);
        if (found > downstream[input]) changed = true, downstream[input] = found;
      }
  }
  return downstream;
}

class Resolver {
 public:
  Resolver(std::span<const Layer> layers, std::span<const CandidateTensor> tensors,
           std::vector<Placement> placements, std::span<const Likeness> likenesses)
      : layers_(layers),
        tensors_(tensors),
        downstream_(likeness_downstream(tensors, likenesses)),
        placements_(std::move(placements)) {
    for (const Likeness& likeness : likenesses) likenesses_[likeness.pair] = likeness;
    for (const LayerPair& pair : placed_pairs(placements_))
      owners_.emplace(pair.tensor, pair.layer);
  }

  std::vector<Placement> resolve() && {
    for (std::size_t layer = 0; layer < layers_.size(); ++layer)
      if (placements_[layer].match == Match::none) place(layer);
    return std::move(placements_);
  }

 private:
  void place(std::size_t layer) {
    if (const Likeness* best = most_alike(layer))
      place(layer, *best);
    else
      place_folded(layer);
  }

  const Likeness* most_alike(std::size_t layer) const {
    const Likeness* best = nullptr;
    for (auto it = likenesses_.lower_bound({layer, 0});
         it != likenesses_.end() && it->first.layer == layer; ++it) {
      const Likeness& found = it->second;
      if (!(found.sqnr_db >= value_match_db) || belongs_elsewhere(found)) continue;
      const bool better = !best || found.sqnr_db > best->sqnr_db ||
                          (found.sqnr_db == best->sqnr_db && found.same_shape && !best->same_shape);
      if (better) best = &found;
    }
    return best;
  }

  // A tensor that is only somewhat like the layer is not its output if metadata names another
  // module, if an activation was fused into the layer (tanh of small numbers is much like them), or
  // if it holds another layer's output in another shape. Nor if a tensor computed from it agrees
  // with a layer within rounding: a real difference would show there. (A large table plus something
  // small is much like the table.)
  bool belongs_elsewhere(const Likeness& found) const {
    const std::size_t tensor = found.pair.tensor;
    const Layer& layer = layers_[found.pair.layer];
    if (is_elsewhere(tensors_[tensor], layer) || is_moved_from_another(found) ||
        (tensors_[tensor].is_activated && takes_batch_norm(layer.type)))
      return found.sqnr_db < rounding_db;
    return found.sqnr_db < whole_layer_db && downstream_[tensor] >= rounding_db;
  }

  // Whether the tensor holds the elements of one that is more like the layer that owns it.
  bool is_moved_from_another(const Likeness& found) const {
    const CandidateTensor& tensor = tensors_[found.pair.tensor];
    if (!tensor.is_moved || tensor.inputs.empty()) return false;
    const auto owner = owners_.find(tensor.inputs.front());
    return owner != owners_.end() && likeness(owner->second, owner->first) > found.sqnr_db;
  }

  double likeness(std::size_t layer, std::size_t tensor) const {
    const auto found = likenesses_.find({layer, tensor});
    return found == likenesses_.end() ? -std::numeric_limits<double>::infinity()
                                      : found->second.sqnr_db;
  }

  void place(std::size_t layer, const Likeness& best) {
    const std::size_t tensor = best.pair.tensor;
    const auto owner = owners_.find(tensor);
    if (owner == owners_.end())
      settle(layer, tensor, is_no_op(layers_[layer]) ? Match::elided : Match::value);
    else if (best.sqnr_db == likeness(owner->second, tensor) || is_no_op(layers_[layer]))
      placements_[layer] = {Match::elided, tensor};
    else if (!(best.sqnr_db < likeness(owner->second, tensor))) {
      if (layers_[owner->second].is_output)
        placements_[layer] = {Match::value, tensor};  // an output keeps its name
      else
        take_over(layer, tensor);
    }
  }

  // If an earlier difference hides all likeness: a BatchNorm without a tensor of its own was folded
  // into the layer before it.
  void place_folded(std::size_t layer) {
    if (layer == 0 || !is_batch_norm(layers_[layer].type) ||
        !takes_batch_norm(layers_[layer - 1].type))
      return;
    const auto tensor = placements_[layer - 1].tensor;
    if (tensor && !tensors_[*tensor].is_activated && likenesses_.contains({layer, *tensor}) &&
        !(likeness(layer - 1, *tensor) >= value_match_db))
      take_over(layer, *tensor);
  }

  void take_over(std::size_t layer, std::size_t tensor) {
    placements_[owners_.at(tensor)] = {Match::fused, std::nullopt};
    settle(layer, tensor, Match::value);
  }

  void settle(std::size_t layer, std::size_t tensor, Match match) {
    placements_[layer] = {match, tensor};
    owners_[tensor] = layer;
  }

  std::span<const Layer> layers_;
  std::span<const CandidateTensor> tensors_;
  std::vector<double> downstream_;
  std::vector<Placement> placements_;
  std::map<LayerPair, Likeness> likenesses_;
  std::map<std::size_t, std::size_t> owners_;  // layer by tensor
};

}  // namespace

bool may_be_alike(const TensorView& reference, const TensorView& candidate) {
  if (reference.size() != candidate.size() || reference.size() < 2) return false;
  if (width(reference) == 0 || width(candidate) == 0) return false;  // packed 4-bit elements
  if (reference.size() >= 4 * likeness_places &&
      !(sqnr_db(measure_noise(thinned(reference), thinned(candidate))) > 0))
    return false;
  return !is_constant(reference);
}

bool is_part_along_axis(const TensorView& reference, const TensorView& candidate) {
  if (!is_float(reference.dtype) || !is_float(candidate.dtype) || width(reference) == 0 ||
      reference.size() < 2 || reference.size() >= candidate.size() || is_constant(reference))
    return false;
  const Tensor part = convert(reference, DType::f64), whole = convert(candidate, DType::f64);
  const std::int64_t step = common_suffix(reference.shape, candidate.shape);
  std::int64_t rows = 1;
  for (std::size_t axis = 0; axis < candidate.shape.size(); ++axis) {
    if (is_part_of_rows(elements<double>(part), elements<double>(whole), rows, step)) return true;
    if (axis == reference.shape.size() || reference.shape[axis] != candidate.shape[axis]) break;
    rows *= reference.shape[axis];
  }
  return false;
}

std::vector<LayerPair> placed_pairs(std::span<const Placement> placements) {
  std::vector<LayerPair> pairs;
  for (std::size_t layer = 0; layer < placements.size(); ++layer)
    if (placements[layer].tensor) pairs.push_back({layer, *placements[layer].tensor});
  return pairs;
}

std::optional<std::vector<LayerPair>> contended_pairs(std::span<const Placement> placements,
                                                      std::span<const CandidateTensor> tensors,
                                                      std::size_t limit) {
  std::vector<std::ptrdiff_t> unplaced;
  for (std::size_t layer = 0; layer < placements.size(); ++layer)
    if (placements[layer].match == Match::none)
      unplaced.push_back(static_cast<std::ptrdiff_t>(layer));
  const std::vector<Window> open = windows(placements, tensors);
  std::vector<LayerPair> pairs;
  for (std::size_t tensor = 0; tensor < tensors.size(); ++tensor) {
    if (tensors[tensor].name.empty()) continue;
    auto layer = std::ranges::upper_bound(unplaced, open[tensor].after);
    for (; layer != unplaced.end() && *layer < open[tensor].before; ++layer) {
      if (pairs.size() == limit) return std::nullopt;
      pairs.push_back({static_cast<std::size_t>(*layer), tensor});
    }
  }
  return pairs;
}

bool is_batch_norm(std::string_view type) { return type.starts_with("BatchNorm"); }

bool takes_batch_norm(std::string_view type) {
  return type.starts_with("Conv") || type == "Linear";
}

bool is_no_op(const Layer& layer) {
  return layer.type == "Identity" || layer.type.find("Dropout") != std::string::npos;
}

std::vector<Placement> resolve_by_value(std::span<const Layer> layers,
                                        std::span<const CandidateTensor> tensors,
                                        std::vector<Placement> placements,
                                        std::span<const Likeness> likenesses) {
  return Resolver(layers, tensors, std::move(placements), likenesses).resolve();
}

std::vector<Counterpart> match_by_value(Runner& reference, std::span<const Tensor> inputs,
                                        const std::map<std::size_t, Tensor>& values,
                                        std::vector<Counterpart> counterparts) {
  std::unordered_set<std::string> taken;
  for (const Counterpart& counterpart : counterparts) taken.insert(counterpart.tensor);
  std::map<std::size_t, double> best;
  reference.run(inputs, [&](const TensorView& tensor) {
    if (!is_float(tensor.dtype) || taken.contains(std::string(tensor.name))) return;
    for (const auto& [index, value] : values) {
      if (!may_be_alike(tensor, value)) continue;
      const double found_db = sqnr_db(measure_noise(tensor, value));
      if (!(found_db >= value_match_db) || (best.contains(index) && best[index] >= found_db))
        continue;
      best[index] = found_db;
      counterparts[index] = {std::string(tensor.name), Match::value};
    }
  });
  return counterparts;
}

}  // namespace vernier
