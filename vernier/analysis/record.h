#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "vernier/analysis/progress.h"
#include "vernier/data/sample_order.h"
#include "vernier/data/samples.h"
#include "vernier/model/edit.h"
#include "vernier/runtime/runner.h"

namespace vernier {

// Which tensors of a model: groups of them, and any whose name matches a pattern with * and ?.
struct TensorSelection {
  bool inputs = false;
  bool outputs = false;
  bool labels = false;         // of a dataset's examples, as "label"
  bool intermediates = false;  // all that the runner can show: ONNX tensors, PyTorch leaves
  std::vector<std::string> patterns;
  bool operator==(const TensorSelection&) const = default;

  bool needs_run() const { return outputs || needs_intermediates(); }
  bool needs_intermediates() const { return intermediates || !patterns.empty(); }
  bool has_pattern_of(const std::string& name) const;
};

// The words "inputs", "outputs", "all" (both and intermediates), "leaves" (intermediates alone),
// "labels", and patterns.
TensorSelection parse_selection(std::span<const std::string> words);

struct RecordOptions {
  std::filesystem::path output;  // .npz: samples stacked; else a folder with an .npz a sample
  TensorSelection tensors;
  std::optional<SampleOrder> order;  // of the samples, which the recording carries
  bool made_up = false;              // the samples: the recording says so, and proves no more
  Progress progress;
};

struct RecordedTensor {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;  // of one sample; in a folder, of the first
  bool operator==(const RecordedTensor&) const = default;
};

struct RecordResult {
  std::vector<RecordedTensor> tensors;    // in the order they were first produced
  std::vector<UnwatchedTensor> left_out;  // could not be stacked: shape varies, not in every sample
  std::int64_t samples = 0;               // that were written
  bool interrupted = false;
  bool operator==(const RecordResult&) const = default;
};

// Writes tensors of every sample to disk as they are produced; no sample stays in memory. A tensor
// that is produced several times in a sample gets "_1", "_2"... from the second time on. The runner
// may be null when only inputs are wanted. An interrupted recording keeps the samples that were
// finished. Throws Error if nothing matches the selection or the output cannot be written.
RecordResult record(Samples& samples, Runner* runner, const RecordOptions& options);

}  // namespace vernier
