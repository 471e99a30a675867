#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "vernier/analysis/progress.h"
#include "vernier/data/sample_order.h"
#include "vernier/data/samples.h"
#include "vernier/runtime/runner.h"

namespace vernier {

// A selection of a model's tensors: by groups, and by patterns of names with * and ?.
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

// Parses the words "inputs", "outputs", "all" (both and intermediates), "leaves" (only
// intermediates), "labels", and patterns.
TensorSelection parse_selection(std::span<const std::string> words);

struct RecordOptions {
  // .npz: samples stacked; else a folder with one .npz for each sample.
  std::filesystem::path output;
  TensorSelection tensors;
  std::optional<SampleOrder> order;  // of the samples; stored in the recording
  bool made_up = false;              // the samples are synthetic, which the recording notes
  Progress progress;
};

struct RecordedTensor {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;  // of one sample; in a folder, of the first one
  bool operator==(const RecordedTensor&) const = default;
};

struct RecordResult {
  std::vector<RecordedTensor> tensors;  // in the order they were first produced
  // Not stacked: the shape varies, or it is missing in a sample.
  std::vector<UnwatchedTensor> left_out;
  std::int64_t samples = 0;  // number that was written
  bool interrupted = false;
  bool operator==(const RecordResult&) const = default;
};

// Throws Error if `output` has the ending of a file other than .npz, or is a folder that is not
// empty.
void require_recording(const std::filesystem::path& output);

// Writes tensors of every sample to disk as they are produced; no sample stays in memory. A tensor
// that is produced several times in a sample gets "_1", "_2"... from the second time on. The runner
// may be null when only inputs are wanted. An interrupted recording keeps the samples that were
// finished. Throws Error if nothing matches the selection or the output cannot be written.
RecordResult record(Samples& samples, Runner* runner, const RecordOptions& options);

}  // namespace vernier
