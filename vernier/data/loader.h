#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "vernier/data/dataset.h"
#include "vernier/data/label_mapping.h"
#include "vernier/data/preprocess.h"

namespace vernier {

// What an example needs besides its input to be of use.
enum class Needs { nothing, label, target };

struct LoaderOptions {
  Preprocessing preprocessing;
  std::int64_t batch = 1;        // where the model's batch axis is dynamic
  Needs needs = Needs::nothing;  // an example without it is bad
  bool images_only = false;      // ready inputs, which no preprocessing changes, are refused
  std::optional<LabelMapping> mapping;
  std::int64_t model_labels = 0;        // how many labels the model has; 0: any
  std::optional<std::int64_t> max_bad;  // more bad examples than this end the work
  int threads = 0;                      // that decode and preprocess; 0: one for each core, up to 4
};

// What became of the examples that were asked for.
struct DatasetReport {
  std::int64_t selected = 0;
  std::int64_t used = 0;
  std::int64_t unreadable = 0;  // damaged, empty or missing images
  std::int64_t without_label = 0;
  std::int64_t unknown_labels = 0;    // that the model does not have, or the mapping leaves out
  std::vector<std::string> problems;  // what was wrong with the first few bad ones
  std::vector<std::string> empty_classes;  // of those that are not left out by the mapping
  std::int64_t bad() const { return unreadable + without_label + unknown_labels; }
  bool operator==(const DatasetReport&) const = default;
};

// Examples in a batch: as many as the model's batch axis has, or as wanted where it is dynamic.
std::int64_t batch_size(const TensorSpec& input, std::int64_t wanted);

// What became of the examples of one block.
struct BlockReport {
  std::int64_t unreadable = 0, without_label = 0, unknown_labels = 0;  // as in DatasetReport
  std::vector<std::string> problems;                                   // of every bad one
  std::vector<std::int64_t> labels;     // the dataset's, of those that are of use and have one
  std::vector<std::int64_t> positions;  // in the dataset, of those that are of use
  std::int64_t used = 0;
  bool operator==(const BlockReport&) const = default;
};

// Rows of one run. Where the model's batch is fixed and too few examples are left, the last one
// is repeated in `input` alone.
struct Batch {
  Tensor input;
  std::vector<std::int64_t> positions;  // in the dataset
  std::vector<std::string> ids;
  std::vector<std::int64_t> labels;  // the model's, -1 for none
  std::vector<Tensor> targets;       // [height, width] or [tokens] of int64, where they are needed
};

// A run of examples that make one batch, but for the bad ones among them.
struct ExampleBlock {
  std::optional<Batch> batch;  // nothing: all are bad
  BlockReport report;
};

// The examples of a dataset as batches of a model's input, decoded and preprocessed by other
// threads ahead of their use. Bad examples are left out and counted. What is in a batch depends on
// its own block of examples alone, so that any can be loaded without those before it.
class Loader {
 public:
  // The dataset must outlive this.
  Loader(Dataset& dataset, std::vector<std::int64_t> positions, const TensorSpec& input,
         LoaderOptions options);
  ~Loader();

  // The next batch, nothing after the last. Throws Error when too many examples are bad, or all
  // are, or when preprocessing does not fit the model.
  std::optional<Batch> next();

  std::int64_t blocks() const;
  // The next block, nothing after the last.
  std::optional<ExampleBlock> next_block();
  // Leaves the next block out, which is counted as it was when it was loaded, or not at all.
  void skip_block(const BlockReport& known = {});
  // When no block is left: throws Error where no example was of use.
  void finish();

  // Complete once next() has given nothing, or behind finish().
  const DatasetReport& report() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace vernier
