#include "vernier/analysis/layers/candidate_graph.h"

#include <unordered_set>

namespace vernier {
namespace {

DTypes all_dtypes(const Model& model) {
  DTypes result;
  for (const auto& [graph, dtypes] : infer_dtypes(model.graph()))
    result.insert(dtypes.begin(), dtypes.end());
  return result;
}

}  // namespace

CandidateGraph::CandidateGraph(const Model& model, std::span<const LayerRow> rows)
    : index_(model), weights_(model), dtypes_(all_dtypes(model)) {
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (!rows[i].tensor.empty()) rows_of_[rows[i].tensor].push_back(i);
}

const Region& CandidateGraph::region(const std::string& tensor) const {
  const auto [place, is_new] = regions_.try_emplace(tensor);
  if (is_new)
    place->second =
        region_of(index_, tensor, [&](const std::string& name) { return rows_of_.contains(name); });
  return place->second;
}

const std::vector<std::size_t>& CandidateGraph::rows_of(const std::string& tensor) const {
  static const std::vector<std::size_t> none;
  const auto found = rows_of_.find(tensor);
  return found == rows_of_.end() ? none : found->second;
}

std::vector<std::string> CandidateGraph::ancestors(const std::string& tensor) const {
  std::vector<std::string> found = region(tensor).sources;
  std::unordered_set<std::string> seen(found.begin(), found.end());
  for (std::size_t i = 0; i < found.size(); ++i)
    for (const std::string& source : region(found[i]).sources)
      if (seen.insert(source).second) found.push_back(source);
  return found;
}

bool CandidateGraph::is_unread(const std::string& tensor) const {
  const GraphIndex& main = index_.main();
  return main.producer(tensor) && main.consumers(tensor).empty() && !main.is_output(tensor);
}

}  // namespace vernier
