#include "vernier/report/detail.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "vernier/error.h"
#include "vernier/json.h"
#include "vernier/report/base64.h"
#include "vernier/report/json.h"
#include "vernier/tensor/parse_number.h"

namespace vernier {
namespace {

using Json = nlohmann::ordered_json;

template <typename T>
std::string packed(const std::vector<T>& values) {
  return base64(std::as_bytes(std::span(values)));
}

Json slice_json(const TensorSlice& slice) {
  return {{"label", slice.label},
          {"rows", slice.rows},
          {"columns", slice.columns},
          {"low", json_number(slice.low)},
          {"high", json_number(slice.high)},
          {"error", json_number(slice.error)},
          {"reference", packed(slice.reference)},
          {"difference", packed(slice.difference)}};
}

Json tensor_json(const TensorDetail& detail) {
  Json slices = json_list<Json>(detail.slices, slice_json);
  return {{"shape", detail.shape},
          {"range", {json_number(detail.low), json_number(detail.high)}},
          {"reference", packed(detail.reference)},
          {"candidate", packed(detail.candidate)},
          {"error", packed(detail.error)},
          {"mean_abs_error", json_number(detail.mean_abs_error)},
          {"worst",
           {{"index", detail.worst},
            {"reference", json_number(detail.worst_reference)},
            {"candidate", json_number(detail.worst_candidate)}}},
          {"channel_axis", detail.channel_axis},
          {"channels", packed(detail.channel_error)},
          {"channel_signal", packed(detail.channel_signal)},
          {"slices", std::move(slices)}};
}

// A row whose tensors may be shown. Drift origins come first, then the lowest SQNR.
struct Candidate {
  DetailRecord::Key key;
  std::string id;  // id of the row on the page
  bool first = false;
  double sqnr_db = INFINITY;
};

std::string details_of(const DetailRecord& record, std::vector<Candidate> rows,
                       const std::vector<Candidate>& outputs, const DetailChoice& choice) {
  std::ranges::stable_sort(rows, [](const Candidate& a, const Candidate& b) {
    const auto rank = [](double value) { return std::isnan(value) ? -INFINITY : value; };
    return std::pair(!a.first, rank(a.sqnr_db)) < std::pair(!b.first, rank(b.sqnr_db));
  });
  if (choice.which == DetailChoice::Which::worst) rows.resize(std::min(rows.size(), choice.count));
  rows.insert(rows.end(), outputs.begin(), outputs.end());
  Json tensors = Json::object();
  for (const Candidate& row : rows)
    if (const TensorDetail* detail = record.find(row.key)) tensors[row.id] = tensor_json(*detail);
  return json_line(Json{{"sample", 0}, {"tensors", std::move(tensors)}});
}

}  // namespace

DetailChoice parse_detail(const std::string& text) {
  using Which = DetailChoice::Which;
  if (text == "none") return {Which::none, 0};
  if (text == "all") return {Which::all, 0};
  constexpr std::string_view worst = "worst:";
  if (text.starts_with(worst))
    if (const auto count = parse_number<std::size_t>(text.substr(worst.size())))
      return {Which::worst, *count};
  throw Error(fmt::format("[detail] '{}': expected worst:N, all or none", text));
}

std::string detail_json(const DetailRecord& record, const DebugResult& result,
                        const DetailChoice& choice) {
  std::vector<Candidate> rows, outputs;
  for (std::size_t i = 0; i < result.activations.size(); ++i) {
    const DebugActivation& row = result.activations[i];
    rows.push_back({{"tensor", row.tensor_name},
                    "t:" + row.tensor_name,
                    row.verdict == DamageVerdict::originator,
                    row.cumulative_sqnr_db.value_or(INFINITY)});
  }
  for (const DebugOutput& row : result.model_outputs)
    outputs.push_back({{"output", row.output_name}, "o:" + row.output_name});
  return details_of(record, std::move(rows), outputs, choice);
}

std::string detail_json(const DetailRecord& record, const LayersResult& result,
                        const DetailChoice& choice) {
  std::vector<Candidate> rows, outputs;
  for (std::size_t i = 0; i < result.rows.size(); ++i) {
    const LayerRow& row = result.rows[i];
    if (row.compared)
      rows.push_back({{"layer", layer_and_tensor(row)},
                      "l:" + row.layer,
                      i == result.drift_origin,
                      row.sqnr_db});
  }
  for (const LayerRow& row : result.outputs)
    outputs.push_back({{"output", row.layer}, "o:" + row.layer});
  return details_of(record, std::move(rows), outputs, choice);
}

}  // namespace vernier
