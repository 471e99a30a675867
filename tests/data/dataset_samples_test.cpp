#include "vernier/data/dataset_samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/data/counting_dataset.h"
#include "tests/failure.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TensorSpec pixels(std::int64_t batch) {
  return {"pixels", DType::f32, {{batch, ""}, {1, ""}, {1, ""}, {1, ""}}};
}

DatasetSamples make(std::unique_ptr<CountingDataset> dataset,
                    const std::vector<std::int64_t>& positions, std::int64_t batch = 1) {
  const TensorSpec inputs[] = {pixels(batch)};
  return dataset_samples(std::move(dataset), positions, inputs,
                         {.preprocessing = {.rescale_factor = 1}});
}

std::vector<double> values(Samples& samples, std::int64_t index) {
  return to_f64(samples.sample(index).at(0));
}

TEST(DatasetSamples, samples_can_be_asked_for_in_any_order) {
  const auto made = make(std::make_unique<CountingDataset>(9), {8, 1, 5, 0});
  EXPECT_EQ(made.samples->size(), 4);
  for (const std::int64_t index : {0, 1, 2, 2, 0, 3, 1}) {
    const double expected = std::vector<double>{8, 1, 5, 0}[index];
    EXPECT_THAT(values(*made.samples, index), ElementsAre(expected));
  }
}

TEST(DatasetSamples, bad_examples_are_no_samples) {
  auto dataset = std::make_unique<CountingDataset>(5);
  dataset->damaged = {0, 3};
  const auto made = make(std::move(dataset), {0, 1, 2, 3, 4});
  EXPECT_EQ(made.samples->size(), 3);
  EXPECT_THAT(values(*made.samples, 2), ElementsAre(4));
  EXPECT_EQ(made.report.unreadable, 2);
}

TEST(DatasetSamples, a_sample_fills_the_batch_of_the_model) {
  const auto made = make(std::make_unique<CountingDataset>(5), {0, 1, 2, 3, 4}, 2);
  EXPECT_EQ(made.samples->size(), 2);
  EXPECT_THAT(values(*made.samples, 1), ElementsAre(2, 3));
  EXPECT_THAT(failure_of([] { make(std::make_unique<CountingDataset>(1), {0}, 2); }),
              HasSubstr("1 examples, the model's batch is 2"));
}

TEST(DatasetSamples, a_model_of_several_inputs_is_refused) {
  const TensorSpec inputs[] = {pixels(1), pixels(1)};
  EXPECT_THAT(
      failure_of([&] { dataset_samples(std::make_unique<CountingDataset>(1), {}, inputs, {}); }),
      HasSubstr("a dataset feeds one input, the model has 2"));
}

}  // namespace
}  // namespace vernier
