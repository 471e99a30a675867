#include "vernier/analysis/layers/changed_run.h"

#include <utility>

#include "vernier/analysis/layers/side_by_side.h"
#include "vernier/error.h"
#include "vernier/metrics/similarity.h"
#include "vernier/runtime/ort_runner.h"
#include "vernier/runtime/stopping.h"
#include "vernier/tensor/convert.h"
#include "vernier/tensor/permute.h"

namespace vernier {

std::vector<std::byte> as_candidate_holds(const LayerRow& row, const Tensor& reference,
                                          DType dtype) {
  const Tensor converted = convert(reference, dtype);
  return row.layout && !row.layout->layout.permutation.empty()
             ? permute_axes(converted, row.layout->layout.permutation).bytes
             : converted.bytes;
}

RunChanged changed_runs(LayersReference& reference, const ChangedRunOptions& options) {
  return [&reference, options](std::span<const LayerRow> rows, const Model& changed) {
    std::vector<std::optional<IntroducedError>> errors(rows.size());
    std::vector<Layer> layers;
    std::vector<CandidateTensor> tensors;
    std::vector<LayerPair> pairs;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      layers.push_back({.name = rows[i].layer});
      tensors.push_back({.name = rows[i].tensor});
      if (!rows[i].tensor.empty() && rows[i].compared) pairs.push_back({i, i});
    }
    std::vector<std::byte> next;
    const auto visit = [&](const LayerPair& pair, const Tensor& expected, const TensorView& found) {
      if (expected.size() != found.size()) return;
      const Similarity figures = similarity(measure_outside_masks(expected, found));
      errors[pair.layer] = {figures.max_abs_diff, figures.sqnr_db};
      next = as_candidate_holds(rows[pair.layer], expected, found.dtype);
    };
    try {
      OrtRunner runner(changed.clone(), options.runtime);
      SideBySide side_by_side(*reference.runner, runner, tensors, options.io);
      side_by_side.run_introduced(
          runner, options.number, options.sample, layers,
          {.pairs = pairs, .visit = visit, .replacement = [&] { return std::exchange(next, {}); }});
    } catch (const Stopped&) {
      throw;
    } catch (const Error&) {
      errors.assign(rows.size(), std::nullopt);  // the changed graph does not run
    }
    return errors;
  };
}

}  // namespace vernier
