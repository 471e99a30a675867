#include "vernier/data/dataset_samples.h"

#include <fmt/format.h>

#include <algorithm>

#include "vernier/error.h"

namespace vernier {
namespace {

// Loads samples in order, ahead of their use. Access out of order restarts the loader there.
class LoadedSamples : public Samples {
 public:
  LoadedSamples(std::unique_ptr<Dataset> dataset, std::vector<std::int64_t> positions,
                TensorSpec input, std::int64_t batch, LoaderOptions options)
      : dataset_(std::move(dataset)),
        positions_(std::move(positions)),
        input_(std::move(input)),
        batch_(batch),
        options_(std::move(options)) {}

  std::int64_t size() const override {
    return static_cast<std::int64_t>(positions_.size()) / batch_;
  }
  std::vector<Tensor> sample(std::int64_t index) override {
    load(index);
    return {tensor_};
  }
  std::optional<Tensor> labels(std::int64_t index) override {
    load(index);
    if (std::ranges::any_of(labels_, [](std::int64_t label) { return label < 0; }))
      return std::nullopt;
    Tensor tensor = make_tensor("label", DType::i64, {std::ssize(labels_)});
    std::ranges::copy(labels_, elements<std::int64_t>(tensor).begin());
    return tensor;
  }

 private:
  void load(std::int64_t index) {
    if (index == current_) return;
    if (!loader_ || index != current_ + 1) start_at(index);
    auto batch = loader_->next();
    if (!batch)
      throw Error(fmt::format("[dataset] sample {}: its images can no longer be read", index));
    tensor_ = std::move(batch->input);
    labels_ = std::move(batch->labels);
    current_ = index;
  }

  void start_at(std::int64_t index) {
    loader_.reset();  // first: its thread reads the dataset, which is not thread-safe
    loader_ = std::make_unique<Loader>(
        *dataset_, std::vector(positions_.begin() + index * batch_, positions_.end()), input_,
        options_);
  }

  std::unique_ptr<Dataset> dataset_;
  std::vector<std::int64_t> positions_;
  TensorSpec input_;
  std::int64_t batch_;
  LoaderOptions options_;
  std::unique_ptr<Loader> loader_;
  std::int64_t current_ = -1;
  Tensor tensor_;
  std::vector<std::int64_t> labels_;
};

}  // namespace

const TensorSpec& only_input(std::span<const TensorSpec> inputs) {
  if (inputs.size() != 1)
    throw Error(fmt::format(
        "[dataset] a dataset feeds one input, the model has {}; record its inputs to an .npz and "
        "use --input-data",
        inputs.size()));
  return inputs[0];
}

DatasetSamples dataset_samples(std::unique_ptr<Dataset> dataset,
                               std::span<const std::int64_t> positions,
                               std::span<const TensorSpec> inputs, LoaderOptions options) {
  const TensorSpec& input = only_input(inputs);
  options.needs = Needs::nothing;
  Loader loader(*dataset, {positions.begin(), positions.end()}, input, options);
  std::vector<std::int64_t> usable;
  while (const auto batch = loader.next())
    usable.insert(usable.end(), batch->positions.begin(), batch->positions.end());
  const std::int64_t batch = batch_size(input, options.batch);
  if (static_cast<std::int64_t>(usable.size()) < batch)
    throw Error(fmt::format("[dataset] {}: {} examples, the model's batch is {}; give it more",
                            input.name, usable.size(), batch));
  const DatasetReport report = loader.report();
  return {std::make_unique<LoadedSamples>(std::move(dataset), std::move(usable), input, batch,
                                          std::move(options)),
          report};
}

}  // namespace vernier
