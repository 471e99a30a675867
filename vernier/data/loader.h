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

// What an example must have besides its input.
enum class Needs { nothing, label, target };

struct LoaderOptions {
  Preprocessing preprocessing;
  std::int64_t batch = 1;        // if the model's batch axis is dynamic
  Needs needs = Needs::nothing;  // an example without it is bad
  bool images_only = false;      // throw Error for ready inputs, which are not preprocessed
  std::optional<LabelMapping> mapping;
  std::int64_t model_labels = 0;        // number of labels of the model; 0 if unknown
  std::optional<std::int64_t> max_bad;  // throw Error if more examples than this are bad
  int threads = 0;                      // to decode and preprocess; 0 for one per core, up to 4
};

// Counts of the selected examples by outcome.
struct DatasetReport {
  std::int64_t selected = 0;
  std::int64_t used = 0;
  std::int64_t unreadable = 0;  // damaged, empty or missing images
  std::int64_t without_label = 0;
  std::int64_t unknown_labels = 0;         // label not in the model, or not in the mapping
  std::vector<std::string> problems;       // of the first few bad examples
  std::vector<std::string> empty_classes;  // mapped classes without a used example
  std::int64_t bad() const { return unreadable + without_label + unknown_labels; }
  bool operator==(const DatasetReport&) const = default;
};

// Examples per batch: the size of the model's batch axis, or `wanted` if that axis is dynamic.
std::int64_t batch_size(const TensorSpec& input, std::int64_t wanted);

// Counts of the examples of one block by outcome.
struct BlockReport {
  std::int64_t unreadable = 0, without_label = 0, unknown_labels = 0;  // as in DatasetReport
  std::vector<std::string> problems;                                   // of every bad example
  std::vector<std::int64_t> labels;     // dataset labels of the used examples that have one
  std::vector<std::int64_t> positions;  // dataset positions of the used examples
  std::int64_t used = 0;
  bool operator==(const BlockReport&) const = default;
};

// The examples of one run. If the model's batch is fixed and there are too few examples, `input`
// repeats the last one; the other members do not.
struct Batch {
  Tensor input;
  std::vector<std::int64_t> positions;  // in the dataset
  std::vector<std::string> ids;
  std::vector<std::int64_t> labels;  // of the model; -1 for none
  std::vector<Tensor> targets;       // [height, width] or [tokens] of int64; empty if not needed
};

// Consecutive examples that make up one batch, without the bad ones among them.
struct ExampleBlock {
  std::optional<Batch> batch;  // nullopt if all examples are bad
  BlockReport report;
};

// The examples of a dataset as batches of a model's input, decoded and preprocessed by other
// threads ahead of their use. Bad examples are left out and counted. A batch depends only on its
// own block of examples, so that it can be loaded without the batches before it.
class Loader {
 public:
  // The dataset must outlive the loader.
  Loader(Dataset& dataset, std::vector<std::int64_t> positions, const TensorSpec& input,
         LoaderOptions options);
  ~Loader();

  // The next batch; nullopt after the last. Throws Error if more than max_bad or all examples are
  // bad, or if the preprocessed image does not fit the model.
  std::optional<Batch> next();

  std::int64_t blocks() const;
  // The next block; nullopt after the last.
  std::optional<ExampleBlock> next_block();
  // Skips the next block. `known` is the report of an earlier load, which is added to the counts.
  void skip_block(const BlockReport& known = {});
  // To be called after the last block. Throws Error if no example could be used.
  void finish();

  // Complete once next() has returned nullopt, or after finish().
  const DatasetReport& report() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace vernier
