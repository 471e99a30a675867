#include "vernier/analysis/decoding/run_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "vernier/analysis/decoding/decoder_inputs.h"
#include "vernier/metrics/kernels.h"
#include "vernier/metrics/similarity.h"
#include "vernier/metrics/token_scores.h"
#include "vernier/model/index.h"
#include "vernier/runtime/ort_runner.h"
#include "vernier/tensor/rows.h"

namespace vernier {
namespace {

// A row of the map: the tensor and its label.
struct MappedTensor {
  std::string tensor, label;
};

// The first normalised tensor of a layer is read by attention.
std::vector<MappedTensor> mapped_tensors(const ModelIndex& candidate,
                                         std::span<const PlacedProjection> projections) {
  std::vector<MappedTensor> rows;
  std::map<int, int> seen;
  for (const PlacedProjection& each : projections) {
    if (each.kind != Projection::norm) continue;
    const int place = seen[each.layer]++;
    if (!candidate.tensor(each.tensor)) continue;
    rows.push_back({each.tensor, each.layer < 0 ? "head"
                                                : fmt::format("layer {}, {}", each.layer,
                                                              place == 0 ? "attention" : "MLP")});
  }
  return rows;
}

// A model's tensors for a sequence, by name: the mapped ones and the logits.
std::map<std::string, Tensor, std::less<>> run_once(const Model& model, const Decoder& decoder,
                                                    const std::vector<MappedTensor>& rows,
                                                    std::span<const std::int64_t> tokens) {
  std::vector<std::string> watched;
  for (const MappedTensor& row : rows) watched.push_back(row.tensor);
  OrtRunner runner(model.clone(), {.watch = Watch::only(watched), .exact = true});
  std::map<std::string, Tensor, std::less<>> found;
  auto outputs = runner.run(
      decoder_inputs(decoder, runner.inputs(), {.tokens = tokens}),
      [&](const ObservedTensor& tensor) { found.emplace(std::string(tensor.name), copy(tensor)); });
  const auto logits = std::ranges::find(outputs, decoder.logits, &Tensor::name);
  if (logits != outputs.end()) found.emplace(decoder.logits, std::move(*logits));
  return found;
}

std::vector<double> sqnr_of_rows(const Tensor& reference, const Tensor& candidate,
                                 std::int64_t rows) {
  std::vector<double> decibels;
  if (reference.shape != candidate.shape || reference.size() % rows != 0) return decibels;
  const Shape shape = {rows, reference.size() / rows};
  TensorView expected = reference, found = candidate;
  expected.shape = found.shape = shape;
  for (std::int64_t row = 0; row < rows; ++row)
    decibels.push_back(sqnr_db(measure_noise(row_of(expected, row), row_of(found, row))));
  return decibels;
}

}  // namespace

RunMap map_run(const Model& reference, const ModelIndex& candidate, const Decoder& decoder,
               std::span<const PlacedProjection> projections,
               std::span<const std::int64_t> tokens) {
  const std::vector<MappedTensor> rows = mapped_tensors(candidate, projections);
  const auto own = find_decoder(reference);
  const auto expected = run_once(reference, own ? *own : decoder, rows, tokens);
  const auto found = run_once(candidate.model(), decoder, rows, tokens);
  RunMap map{.tokens = {tokens.begin(), tokens.end()}};
  for (const MappedTensor& row : rows) {
    const auto before = expected.find(row.tensor), after = found.find(row.tensor);
    if (before == expected.end() || after == found.end()) continue;
    std::vector<double> decibels = sqnr_of_rows(before->second, after->second, std::ssize(tokens));
    if (decibels.empty()) continue;
    map.rows.push_back(row.label);
    map.sqnr_db.push_back(std::move(decibels));
  }
  const auto before = expected.find(own ? own->logits : decoder.logits);
  const auto after = found.find(decoder.logits);
  if (before != expected.end() && after != found.end() &&
      before->second.shape == after->second.shape)
    map.kl = kl_by_row(before->second, after->second);
  return map;
}

}  // namespace vernier
