#include "vernier/analysis/evidence/calibration_fit.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/fixture.h"
#include "tests/model_builder.h"
#include "vernier/analysis/inputs/inputs.h"
#include "vernier/model/index.h"

namespace vernier {
namespace {

CalibrationFit fit_of(const Model& candidate, const std::vector<std::vector<Tensor>>& samples) {
  CalibrationProbe probe(ModelIndex(candidate), nullptr, {});
  std::vector<QuantizerUse> uses(probe.quantizers());
  for (const auto& sample : samples) {
    const CalibrationProbe::Sample run = probe.run(sample);
    for (std::size_t i = 0; i < uses.size(); ++i) uses[i] = pool(uses[i], run.uses[i]);
  }
  return probe.fit(uses);
}

std::vector<std::vector<Tensor>> digits(const Model& model, float factor) {
  InputSpec spec{.samples = 16};
  spec.data = fixture("mnist/mnist_inputs.npz");
  const Inputs inputs = make_inputs(model, spec);
  std::vector<std::vector<Tensor>> samples;
  for (std::int64_t i = 0; i < inputs.samples->size(); ++i) {
    samples.push_back(inputs.samples->sample(i));
    for (float& value : elements<float>(samples.back()[0])) value *= factor;
  }
  return samples;
}

TEST(CalibrationFit, exact_arithmetic_is_that_of_the_cpu) {
  const OrtOptions exact = in_exact_arithmetic(
      {.threads = 2, .provider = "openvino", .provider_options = {{"device_type", "CPU"}}});
  EXPECT_EQ(exact,
            (OrtOptions{.optimization = Optimization::disabled, .exact = true, .threads = 2}));
}

TEST(CalibrationFit, data_like_the_calibration_data_fits) {
  for (const char* name :
       {"mnist_cnn.int8.onnx", "mnist_cnn.int8_per_channel.onnx", "mnist_vit.int8.onnx"}) {
    const Model model = Model::load(fixture(std::string("mnist/") + name));
    const CalibrationFit fit = fit_of(model, digits(model, 1));
    EXPECT_GT(fit.quantizers, 10) << name;
    EXPECT_LE(fit.score, 0.2) << name;
    EXPECT_LE(fit.clipped_share, most_clipped_share) << name;
  }
}

TEST(CalibrationFit, inputs_outside_the_calibrated_range_do_not) {
  const Model model = Model::load(fixture("mnist/mnist_cnn.int8.onnx"));
  const CalibrationFit loud = fit_of(model, digits(model, 8));
  EXPECT_GT(loud.score, fitting_score);
  EXPECT_GT(loud.clipped_share, most_clipped_share);
  EXPECT_GT(fit_of(model, digits(model, 0.05F)).score, fitting_score);
}

// x through a quantizer of codes 0 to 255 with this zero point and a step of 1.
Model quantizer(std::uint8_t zero_point) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{4, ""}})
      .weight(tensor_of<float>("scale", DType::f32, {}, {1}))
      .weight(tensor_of<std::uint8_t>("zero", DType::u8, {}, {zero_point}))
      .node("Neg", {"x"}, {"n"})
      .node("QuantizeLinear", {"n", "scale", "zero"}, {"q"})
      .node("DequantizeLinear", {"q", "scale", "zero"}, {"y"})
      .output("y", DType::f32, {{4, ""}});
  return builder.model();
}

std::vector<std::vector<Tensor>> one(std::vector<float> values) {
  return {{tensor_of("x", DType::f32, {4}, values)}};
}

TEST(CalibrationFit, the_score_is_octaves_and_clipped_percent) {
  const Model full = quantizer(0);
  EXPECT_EQ(fit_of(full, one({-255, 0, 0, -1})).score, 0);
  EXPECT_DOUBLE_EQ(fit_of(full, one({-127.5F, 0, 0, -1})).score, 1);
  const CalibrationFit clipped = fit_of(full, one({-510, 0, 0, -1}));
  EXPECT_DOUBLE_EQ(clipped.score, 1 + 100 * clipped.surely_clipped);
  EXPECT_LT(clipped.surely_clipped, 0.1);  // one of four elements proves little
  EXPECT_EQ(clipped.clipped_share, 0.25);
  EXPECT_EQ(clipped.most_clipped, "y");  // as users know it: the output
}

TEST(CalibrationFit, what_is_cut_off_by_little_is_not_clipped) {
  EXPECT_EQ(fit_of(quantizer(0), one({-258, -258, -258, 0})).clipped_share, 0);
  EXPECT_EQ(fit_of(quantizer(0), one({-260, -260, -260, 0})).clipped_share, 0.75);
}

TEST(CalibrationFit, a_side_without_codes_stands_for_a_relu) {
  EXPECT_EQ(fit_of(quantizer(0), one({-255, 99, 99, 99})).clipped_share, 0);
  EXPECT_EQ(fit_of(quantizer(128), one({-127, 0, 999, 0})).clipped_share, 0.25);
}

// y = 4 x, in float and as a QOperator whose output has codes up to `largest`.
Model product() {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{1}, {1}})
      .weight(tensor_of<float>("w", DType::f32, {1, 1}, {4}))
      .node("MatMul", {"x", "w"}, {"p"})
      .node("Identity", {"p"}, {"y"})
      .output("y");
  return builder.model();
}

Model quantized_product(float largest) {
  const auto scalar = [](const char* name, float value) {
    return tensor_of<float>(name, DType::f32, {}, {value});
  };
  GraphBuilder builder;
  builder.input("x", DType::f32, {{1}, {1}})
      .weight(scalar("x_s", 1.0F / 255))
      .weight(scalar("w_s", 4.0F / 255))
      .weight(scalar("p_s", largest / 255))
      .weight(tensor_of<std::uint8_t>("z", DType::u8, {}, {0}))
      .weight(tensor_of<std::uint8_t>("w_quantized", DType::u8, {1, 1}, {255}))
      .node("QuantizeLinear", {"x", "x_s", "z"}, {"x_quantized"})
      .node("QLinearMatMul", {"x_quantized", "x_s", "z", "w_quantized", "w_s", "z", "p_s", "z"},
            {"p_quantized"})
      .node("DequantizeLinear", {"p_quantized", "p_s", "z"}, {"y"})
      .output("y");
  return builder.model();
}

TEST(CalibrationFit, what_an_operators_own_quantizer_cuts_off_shows_in_the_reference) {
  const Model reference = product();
  const ModelIndex reference_index(reference);
  const auto fit = [&](float largest) {
    const Model candidate = quantized_product(largest);
    CalibrationProbe probe(ModelIndex(candidate), &reference_index, {});
    return probe.fit(probe.run(std::vector{tensor_of<float>("x", DType::f32, {1, 1}, {1})}).uses);
  };
  EXPECT_NEAR(fit(4).score, 0, 1e-6);
  EXPECT_NEAR(fit(4).overflow, 1, 1e-6);
  const CalibrationFit narrow = fit(1);
  EXPECT_NEAR(narrow.overflow, 4, 1e-6);
  EXPECT_EQ(narrow.clipped_share, 1);
  EXPECT_GT(narrow.score, fitting_score);
}

TEST(CalibrationFit, picking_leaves_out_the_quantizer_that_fits_worst) {
  const auto used = [](double largest) {
    return UsedRange{.representable = 1, .use = {.largest = largest, .elements = 100}};
  };
  EXPECT_EQ(score_without_worst(std::vector{used(2), used(0.5), used(1), used(16)}), 2.0 / 3);
  EXPECT_EQ(score_without_worst(std::vector{used(4)}), 2);
}

TEST(CalibrationFit, an_octave_of_room_in_16_bits_does_not_count) {
  const auto score = [](double largest, bool is_wide) {
    const UsedRange range{
        .representable = 2, .use = {.largest = largest, .elements = 100}, .is_wide = is_wide};
    return vernier::fit_of(std::vector{range}).score;
  };
  EXPECT_EQ(score(1, false), 1);
  EXPECT_EQ(score(1, true), 0);
  EXPECT_EQ(score(0.25, true), 2);
  EXPECT_EQ(score(4, true), 1);
}

TEST(CalibrationFit, a_bounded_tensor_counts_where_it_exceeds_its_range) {
  const UsedRange clip{.name = "clip",
                       .representable = 1,
                       .use = {.largest = 4, .clipped = 50, .elements = 100},
                       .bounded = true};
  const CalibrationFit fit = vernier::fit_of(std::vector{clip});
  EXPECT_EQ(fit.quantizers, 0);
  EXPECT_EQ(fit.score, 0);
  EXPECT_EQ(fit.clipped_share, 0);
  EXPECT_EQ(fit.overflow, 4);
  EXPECT_EQ(fit.most_overflowed, "clip");
}

TEST(CalibrationFit, zeros_alone_are_far_off) {
  EXPECT_EQ(fit_of(quantizer(128), one({0, 0, 0, 0})).score, 10);
}

// A quantizer that was calibrated on zeros alone has a scale of 1 and a zero point of 0.
TEST(CalibrationFit, zeros_fit_a_quantizer_that_has_seen_nothing_else) {
  const CalibrationFit zeros = fit_of(quantizer(0), one({0, 0, 0, 0}));
  EXPECT_EQ(zeros.score, 0);
  EXPECT_EQ(zeros.quantizers, 0);
  EXPECT_GT(fit_of(quantizer(0), one({-1, 0, 0, 0})).score, 7);
}

TEST(CalibrationFit, real_inputs_fit_up_to_an_octave) {
  EXPECT_TRUE((CalibrationFit{.score = fitting_score}.fits(false)));
  EXPECT_FALSE((CalibrationFit{.score = 0.5}.fits(false)));
  EXPECT_TRUE((CalibrationFit{.score = 0.5}.fits(true)));
  EXPECT_FALSE((CalibrationFit{.score = NAN}.fits(true)));
}

TEST(CalibrationFit, a_few_elements_hardly_tell_the_share_that_is_clipped) {
  const auto surely = [](std::int64_t clipped, std::int64_t elements) {
    const UsedRange range{.representable = 1,
                          .use = {.largest = 1, .clipped = clipped, .elements = elements}};
    return vernier::fit_of(std::vector{range}).surely_clipped;
  };
  EXPECT_NEAR(surely(3, 72), 0.0143, 1e-4);
  EXPECT_NEAR(surely(1, 4), 0.0456, 1e-4);
  EXPECT_NEAR(surely(40000, 1000000), 0.0396, 1e-4);
  EXPECT_EQ(surely(0, 100), 0);
}

}  // namespace
}  // namespace vernier
