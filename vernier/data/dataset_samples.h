#pragma once

#include <memory>
#include <span>

#include "vernier/data/loader.h"
#include "vernier/data/samples.h"

namespace vernier {

struct DatasetSamples {
  std::unique_ptr<Samples> samples;
  DatasetReport report;
};

// The input that a dataset feeds. Throws Error unless there is exactly one.
const TensorSpec& only_input(std::span<const TensorSpec> inputs);

// A dataset as the samples of a model with one input. Labels are optional. Reads every example
// once, so that bad ones are left out before the first sample is used. With a batch of B, each
// sample has B examples, and a remainder is dropped.
DatasetSamples dataset_samples(std::unique_ptr<Dataset> dataset,
                               std::span<const std::int64_t> positions,
                               std::span<const TensorSpec> inputs, LoaderOptions options);

}  // namespace vernier
