#include "vernier/analysis/pairing/by_name.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <map>
#include <unordered_map>

#include "vernier/analysis/inputs/io_mapping.h"
#include "vernier/data/input_shape.h"

namespace vernier {
namespace {

// Suffixes that quantization tools append to tensor names.
constexpr std::array<std::string_view, 7> quantizer_suffixes = {"_DequantizeLinear_Output",
                                                                "_DequantizeLinear_Output_1",
                                                                "_QuantizeLinear_Output",
                                                                "_QuantizeLinear_Input",
                                                                "_quantized",
                                                                "_fake_quantized",
                                                                "_Q4"};

using Index = std::unordered_map<std::string, std::size_t>;

// For each layer's scope, the last tensor that something outside the scope reads. Results of a
// recurrent layer ("lstm.1") are included only if they are read.
Index scope_outputs(std::span<const CandidateTensor> tensors) {
  std::vector<bool> leaves_scope(tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].is_output) leaves_scope[i] = true;
    for (const std::size_t input : tensors[i].inputs)
      if (tensors[input].layer != tensors[i].layer) leaves_scope[input] = true;
  }
  Index outputs;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].name.empty()) continue;
    const auto [entry, added] = outputs.emplace(tensors[i].layer, i);
    if (!added && (leaves_scope[i] || !leaves_scope[entry->second])) entry->second = i;
    if (tensors[i].result && leaves_scope[i])
      outputs[fmt::format("{}.{}", tensors[i].layer, *tensors[i].result)] = i;
  }
  outputs.erase("");
  return outputs;
}

// Whether PyTorch's newer exporter named the scope: it does not number calls.
bool has_exported_scope(const CandidateTensor& tensor) {
  return tensor.layer_is_metadata || tensor.layer_is_recalled;
}

// Whether the exporter said that a module other than the layer's computes the tensor. A layer
// called linear_2 is the third call of linear, or has a scope of its own.
bool is_of_another_module(const CandidateTensor& tensor, const Layer& layer, bool has_own_scope) {
  if (layer.type.empty() || !has_exported_scope(tensor) || tensor.layer == layer.name) return false;
  return has_own_scope || (tensor.layer != module_call(layer.name).module &&
                           tensor.layer != module_call(without_result(layer.name)).module);
}

// A range of tensors that nodes of one scope write in sequence, and the last one read outside it.
struct ScopeRun {
  std::size_t first = 0, last = 0;
  std::size_t output = 0;
};

// The first and the last tensor that is computed from a tensor.
struct Readers {
  std::size_t first = std::numeric_limits<std::size_t>::max(), last = 0;
};

std::vector<Readers> readers_of(std::span<const CandidateTensor> tensors) {
  std::vector<Readers> readers(tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i)
    for (const std::size_t input : tensors[i].inputs)
      readers[input] = {std::min(readers[input].first, i), std::max(readers[input].last, i)};
  return readers;
}

// The runs of a scope from metadata, in graph order. Newer exporters give every call of a module
// the same scope, so each run is one call.
std::vector<ScopeRun> runs_of(const std::vector<std::size_t>& scope,
                              std::span<const CandidateTensor> tensors,
                              const std::vector<Readers>& readers) {
  std::vector<ScopeRun> runs;
  for (const std::size_t i : scope) {
    if (runs.empty() || runs.back().last + 1 != i) runs.push_back({i, i, i});
    runs.back().last = i;
  }
  for (ScopeRun& run : runs) {
    const auto leaves = [&](std::size_t i) {
      return !tensors[i].name.empty() &&
             (tensors[i].is_output || readers[i].first < run.first || readers[i].last > run.last);
    };
    run.output = run.last;
    while (run.output > run.first && !leaves(run.output)) --run.output;
    if (!leaves(run.output)) run.output = run.last;
  }
  return runs;
}

Placement by_scope(std::size_t tensor, std::span<const CandidateTensor> tensors) {
  return {tensors[tensor].layer_is_metadata ? Match::metadata : Match::scope, tensor};
}

// Places the layers of modules that are called more than once, if their scope has as many runs as
// calls.
void place_calls(std::span<const Layer> layers, std::span<const CandidateTensor> tensors,
                 std::vector<Placement>& placements) {
  std::unordered_map<std::string, std::vector<std::size_t>> scopes;
  for (std::size_t i = 0; i < tensors.size(); ++i)
    if (has_exported_scope(tensors[i])) scopes[tensors[i].layer].push_back(i);
  const std::vector<Readers> readers = readers_of(tensors);
  std::map<std::string, std::map<std::size_t, std::size_t>> calls;  // scope: call number: layer
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const ModuleCall call =
        scopes.contains(layers[i].name) ? ModuleCall{layers[i].name} : module_call(layers[i].name);
    if (!layers[i].type.empty() && scopes.contains(call.module))
      calls[call.module].emplace(call.number, i);
  }
  for (const auto& [scope, numbered] : calls) {
    if (numbered.size() < 2) continue;
    const std::vector<ScopeRun> runs = runs_of(scopes.at(scope), tensors, readers);
    std::size_t run = 0;
    for (const auto& [number, layer] : numbered)
      placements[layer] =
          runs.size() == numbered.size() ? by_scope(runs[run++].output, tensors) : Placement{};
  }
}

Placement place(const Layer& layer, const Index& names, const Index& scopes,
                std::span<const CandidateTensor> tensors) {
  const auto scope = scopes.find(layer.name);
  const bool has_own_scope = scope != scopes.end() && has_exported_scope(tensors[scope->second]);
  const auto may_be = [&](const CandidateTensor& tensor) {
    return !(tensor.is_input && !layer.type.empty()) &&
           !is_of_another_module(tensor, layer, has_own_scope);
  };
  for (const std::string& name : {layer.name, layer.name + ".0"})
    if (const auto found = names.find(name); found != names.end() && may_be(tensors[found->second]))
      return {Match::name, found->second};
  return scope == scopes.end() ? Placement{} : by_scope(scope->second, tensors);
}

void place_outputs(std::span<const Layer> layers, std::span<const CandidateTensor> tensors,
                   std::vector<Placement>& placements) {
  std::vector<std::size_t> layer_outputs, tensor_outputs;
  std::vector<std::string> layer_names, tensor_names;
  for (std::size_t i = 0; i < layers.size(); ++i)
    if (layers[i].is_output) layer_outputs.push_back(i), layer_names.push_back(layers[i].name);
  for (std::size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i].is_output) tensor_outputs.push_back(i), tensor_names.push_back(tensors[i].name);
  for (const OutputPair& pair : pair_outputs(layer_names, tensor_names).pairs)
    if (Placement& placement = placements[layer_outputs[pair.reference]]; !placement.tensor)
      placement = {pair.match, tensor_outputs[pair.candidate]};
}

// A PyTorch operator, by a part of its name, and the one operator that it is exported as.
struct ExportedKind {
  std::string_view part, op;
};
constexpr std::array<ExportedKind, 8> exported_kinds = {{{"upsample", "Resize"},
                                                         {"grid_sampler", "GridSample"},
                                                         {"_pad", "Pad"},
                                                         {"log_softmax", "LogSoftmax"},
                                                         {"softmax", "Softmax"},
                                                         {"max_pool", "MaxPool"},
                                                         {"avg_pool", "AveragePool"},
                                                         {"pixel_shuffle", "DepthToSpace"}}};

std::string_view exported_kind(const Layer& layer) {
  if (!layer.type.starts_with("aten.")) return "";
  const auto kind = std::ranges::find_if(exported_kinds, [&](const ExportedKind& each) {
    return layer.type.find(each.part) != std::string::npos;
  });
  return kind == exported_kinds.end() ? "" : kind->op;
}

// Whether each is computed from the one before, so that they have one order.
bool are_chained(const std::vector<std::size_t>& chain, std::span<const CandidateTensor> tensors) {
  for (std::size_t i = 1; i < chain.size(); ++i) {
    std::vector<bool> from(tensors.size());
    for (std::size_t j = chain[i - 1]; j <= chain[i]; ++j)
      from[j] = j == chain[i - 1] || std::ranges::any_of(tensors[j].inputs, [&](std::size_t input) {
                  return from[input];
                });
    if (!from[chain[i]]) return false;
  }
  return true;
}

// Of two operators with equal arguments the exporter may keep one, and then the numbers differ.
void place_operators(std::span<const Layer> layers, std::span<const CandidateTensor> tensors,
                     std::vector<Placement>& placements) {
  using Place = std::pair<std::string, std::string_view>;  // module and kind
  std::map<Place, std::vector<std::size_t>> wanted, found;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::size_t slash = layers[i].name.rfind('/');
    if (const std::string_view kind = exported_kind(layers[i]); !kind.empty())
      wanted[{slash == std::string::npos ? "" : layers[i].name.substr(0, slash), kind}].push_back(
          i);
  }
  if (wanted.empty()) return;
  for (std::size_t i = 0; i < tensors.size(); ++i)
    if (!tensors[i].name.empty() && !tensors[i].op.empty())
      found[{tensors[i].layer, tensors[i].op}].push_back(i);
  for (const auto& [place, rows] : wanted) {
    const auto chain = found.find(place);
    if (chain == found.end() || chain->second.size() != rows.size() ||
        !are_chained(chain->second, tensors))
      continue;
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (Placement& placement = placements[rows[i]]; !placement.tensor)
        placement = {Match::scope, chain->second[i]};
  }
}

std::size_t place_of(std::span<const std::string> names, const std::string& name) {
  return static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
}

// Whether two outputs at the same position may be a pair: by kind and shape.
bool may_be_same(const Tensor& reference, const Tensor& candidate) {
  return is_float(reference.dtype) == is_float(candidate.dtype) &&
         squeezed(reference.shape) == squeezed(candidate.shape);
}

// Pairs outputs by one criterion after another; outputs that are already paired are left alone.
class Pairing {
 public:
  Pairing(std::span<const std::string> reference, std::span<const std::string> candidate)
      : reference_(reference), candidate_(candidate), pair_of_(reference.size()) {}

  bool is_empty() const {
    return std::ranges::none_of(pair_of_, &std::optional<OutputPair>::has_value);
  }

  void add(std::size_t reference, std::size_t candidate, Match match) {
    pair_of_[reference] = {candidate_[candidate], reference, candidate, match};
  }

  // Returns whether any outputs have the same name.
  bool by_name() {
    bool any = false;
    for (const std::size_t i : left_reference())
      if (const std::size_t place = place_of(candidate_, reference_[i]);
          place < candidate_.size() && !is_paired(place)) {
        add(i, place, Match::name);
        any = true;
      }
    return any;
  }

  template <typename Agree>
  void by_position(const Agree& agree) {
    const std::vector<std::size_t> reference = left_reference(), candidate = left_candidate();
    if (!std::ranges::equal(reference, candidate, agree)) return;
    for (std::size_t i = 0; i < reference.size(); ++i)
      add(reference[i], candidate[i], Match::position);
  }

  OutputPairing result() && {
    OutputPairing pairing{.only_reference = left_reference(), .only_candidate = left_candidate()};
    for (std::optional<OutputPair>& pair : pair_of_)
      if (pair) pairing.pairs.push_back(std::move(*pair));
    return pairing;
  }

 private:
  bool is_paired(std::size_t candidate) const {
    return std::ranges::any_of(
        pair_of_, [&](const auto& pair) { return pair && pair->candidate == candidate; });
  }
  std::vector<std::size_t> left_reference() const {
    std::vector<std::size_t> left;
    for (std::size_t i = 0; i < pair_of_.size(); ++i)
      if (!pair_of_[i]) left.push_back(i);
    return left;
  }
  std::vector<std::size_t> left_candidate() const {
    std::vector<std::size_t> left;
    for (std::size_t i = 0; i < candidate_.size(); ++i)
      if (!is_paired(i)) left.push_back(i);
    return left;
  }

  std::span<const std::string> reference_, candidate_;
  std::vector<std::optional<OutputPair>> pair_of_;  // by output of the reference
};

}  // namespace

std::string without_result(const std::string& layer) {
  const auto dot = layer.rfind('.');
  const bool is_result = dot != std::string::npos && dot + 1 < layer.size() &&
                         layer.find_first_not_of("0123456789", dot + 1) == std::string::npos;
  return is_result ? layer.substr(0, dot) : layer;
}

std::vector<std::string> quantizer_stems(const std::string& name) {
  std::vector<std::string> names = {name};
  for (const std::string_view suffix : quantizer_suffixes)
    if (name.ends_with(suffix)) names.push_back(name.substr(0, name.size() - suffix.size()));
  return names;
}

Counterpart match_by_name(const std::function<bool(const std::string&)>& exists,
                          const std::string& name) {
  if (name.empty()) return {};
  for (const std::string& stem : quantizer_stems(name))
    if (exists(stem)) return {stem, Match::name};
  return {};
}

OutputPairing pair_outputs(std::span<const std::string> reference,
                           std::span<const std::string> candidate, bool positional) {
  Pairing pairing(reference, candidate);
  if (!positional || reference.size() != candidate.size()) pairing.by_name();
  if (pairing.is_empty()) pairing.by_position([](std::size_t, std::size_t) { return true; });
  return std::move(pairing).result();
}

OutputPairing pair_outputs(std::span<const Tensor> reference, std::span<const Tensor> candidate,
                           const std::map<std::string, std::string>& mapped, bool positional) {
  const std::vector<std::string> expected = names_of(reference), found = names_of(candidate);
  Pairing pairing(expected, found);
  for (const auto& [from, to] : mapped) {
    require_name(from, expected, "--map-output", "the reference", "output");
    require_name(to, found, "--map-output", "the candidate", "output");
    pairing.add(place_of(expected, from), place_of(found, to), Match::name);
  }
  const bool by_place = positional && reference.size() == candidate.size();
  if (!by_place && pairing.by_name()) return std::move(pairing).result();
  pairing.by_position([&](std::size_t i, std::size_t j) {
    return by_place || may_be_same(reference[i], candidate[j]);
  });
  return std::move(pairing).result();
}

std::optional<Warning> order_warning(const OutputPairing& pairing,
                                     std::span<const std::string> reference) {
  std::vector<OutputPair> pairs = pairing.pairs;
  std::erase_if(pairs,
                [&](const OutputPair& pair) { return pair.name != reference[pair.reference]; });
  if (std::ranges::is_sorted(pairs, {}, &OutputPair::candidate)) return std::nullopt;
  const auto names = [&] {
    std::vector<std::string> list;
    for (const OutputPair& pair : pairs) list.push_back(pair.name);
    return fmt::format("{}", fmt::join(list, ", "));
  };
  std::string expected = names();
  std::ranges::sort(pairs, {}, &OutputPair::candidate);
  return Warning{WarningKind::reordered_outputs, names(), std::move(expected)};
}

ModuleCall module_call(const std::string& layer) {
  const std::size_t digits = layer.find_last_not_of("0123456789") + 1;
  ModuleCall call{layer};
  if (digits < 2 || digits == layer.size() || layer[digits - 1] != '_') return call;
  const auto [end, error] =
      std::from_chars(layer.data() + digits, layer.data() + layer.size(), call.number);
  if (error == std::errc() && call.number > 0) call.module = layer.substr(0, digits - 1);
  return call;
}

bool is_elsewhere(const CandidateTensor& tensor, const Layer& layer) {
  return tensor.layer_is_metadata && is_of_another_module(tensor, layer, false);
}

std::vector<Placement> align(std::span<const Layer> layers,
                             std::span<const CandidateTensor> tensors) {
  Index names;
  for (std::size_t i = 0; i < tensors.size(); ++i) names.emplace(tensors[i].name, i);
  const Index scopes = scope_outputs(tensors);
  std::vector<Placement> placements;
  for (const Layer& layer : layers) placements.push_back(place(layer, names, scopes, tensors));
  place_calls(layers, tensors, placements);
  place_outputs(layers, tensors, placements);
  place_operators(layers, tensors, placements);
  return placements;
}

}  // namespace vernier
