#include "vernier/analysis/layers/coincidences.h"

#include <vernier_onnx.pb.h>

#include <set>
#include <string_view>
#include <unordered_map>

#include "vernier/analysis/layers/side_by_side.h"

namespace vernier {

std::vector<std::size_t> find_coincidences(std::span<const LayerRow> rows,
                                           std::span<const std::size_t> placed,
                                           const GraphIndex& reference) {
  std::unordered_map<std::string_view, std::size_t> row_of;
  for (std::size_t i = 0; i < rows.size(); ++i) row_of.emplace(rows[i].layer, i);
  std::set<std::size_t> doubtful;
  for (const std::size_t row : placed)
    if (is_exceeding(rows[row])) doubtful.insert(row);

  // A tensor that is not compared, or is doubtful itself, says nothing; those computed from it do.
  const auto leads_to_right_layers_only = [&](std::size_t row) {
    std::vector<std::string_view> open = {rows[row].layer};
    std::set<std::string_view> seen;
    bool any = false;
    while (!open.empty()) {
      const std::string_view tensor = open.back();
      open.pop_back();
      if (!seen.insert(tensor).second) continue;
      if (reference.is_output(tensor)) return false;
      for (const auto* node : reference.consumers(tensor))
        for (const std::string& output : node->output()) {
          const auto found = row_of.find(output);
          const bool tells = found != row_of.end() && rows[found->second].compared &&
                             !doubtful.contains(found->second);
          if (!tells)
            open.push_back(output);
          else if (is_exceeding(rows[found->second]))
            return false;
          any |= tells;
        }
    }
    return any;
  };
  std::vector<std::size_t> found;
  for (const std::size_t row : doubtful)
    if (leads_to_right_layers_only(row)) found.push_back(row);
  return found;
}

}  // namespace vernier
