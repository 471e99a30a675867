#include "vernier/analysis/quantize/calibration_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/batch_norms.h"
#include "tests/failure.h"
#include "tests/fixture.h"

namespace vernier {
namespace {

using ::testing::HasSubstr;

CalibrationInput digits() {
  CalibrationInput input;
  input.spec.data = fixture("mnist/mnist_inputs.npz");
  return input;
}

TEST(CalibrationData, is_empty_without_data) {
  const CalibrationData data = calibration_data(Model::load(fixture("mnist/mnist_cnn.onnx")), {});
  EXPECT_EQ(data.inputs.samples, nullptr);
  EXPECT_FALSE(data.synthetic);
}

TEST(CalibrationData, is_what_the_file_holds) {
  const Model model = Model::load(fixture("mnist/mnist_cnn.onnx"));
  const CalibrationData data = calibration_data(model, digits());
  EXPECT_EQ(data.inputs.samples->size(), 64);
  EXPECT_EQ(data.inputs.description, "mnist_inputs.npz");
  EXPECT_FALSE(data.synthetic);
}

TEST(CalibrationData, is_synthetic_only_if_asked_for_and_without_real_data) {
  const Model model = Model::load(fixture("mnist/mnist_cnn.onnx"));
  const CalibrationData data = calibration_data(model, {.synthetic = true});
  EXPECT_GE(data.inputs.samples->size(), 64);
  EXPECT_TRUE(data.synthetic);
  CalibrationInput both = digits();
  both.synthetic = true;
  EXPECT_THAT(failure_of([&] { calibration_data(model, both); }), HasSubstr("real data as well"));
}

TEST(CalibrationData, synthetic_inputs_that_batch_norms_do_not_know_are_refused) {
  EXPECT_THAT(failure_of([] { calibration_data(batch_norms(25), {.synthetic = true}); }),
              HasSubstr("judging by its batch norms"));
  EXPECT_EQ(calibration_data(batch_norms(24), {.synthetic = true}).fit, std::nullopt);
}

}  // namespace
}  // namespace vernier
