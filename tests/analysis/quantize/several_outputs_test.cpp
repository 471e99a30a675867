#include <gtest/gtest.h>
#include <vernier_onnx.pb.h>

#include <cmath>

#include "tests/model_builder.h"
#include "vernier/analysis/quantize/tune_search.h"
#include "vernier/data/samples.h"

namespace vernier {
namespace {

constexpr std::int64_t width = 16;

// Small numbers without a rule, the same everywhere.
float number(std::int64_t i) {
  const auto bits = static_cast<std::uint32_t>(i) * 2654435761U;
  return static_cast<float>(bits >> 8) / static_cast<float>(1 << 24) - 0.5F;
}

Tensor numbers(const std::string& name, Shape shape, std::int64_t seed, float scale) {
  Tensor tensor = make_tensor(name, DType::f32, std::move(shape));
  std::int64_t i = seed * 7919;
  for (float& each : elements<float>(tensor)) each = scale * number(++i);
  return tensor;
}

// Two products of x: `loud` is a thousand times as large as `quiet`. The columns of x that quiet
// reads are a hundredth of the others, which set the range of x.
Model two_products() {
  Tensor quiet = numbers("w_quiet", {width, 2}, 2, 1);
  auto values = elements<float>(quiet);
  for (std::size_t i = 0; i < values.size() / 2; ++i) values[i] = 0;
  return GraphBuilder()
      .input("x", DType::f32, {{1}, {width}})
      .output("loud", DType::f32, {{1}, {2}})
      .output("quiet", DType::f32, {{1}, {2}})
      .weight(numbers("w_loud", {width, 2}, 1, 1000))
      .weight(quiet)
      .node("MatMul", {"x", "w_loud"}, {"loud"})
      .node("MatMul", {"x", "w_quiet"}, {"quiet"})
      .model();
}

class Drawn : public Samples {
 public:
  std::int64_t size() const override { return 64; }
  std::vector<Tensor> sample(std::int64_t index) override {
    Tensor x = numbers("x", {1, width}, index + 10, 1);
    auto values = elements<float>(x);
    for (std::size_t i = width / 2; i < values.size(); ++i) values[i] /= 20;
    return {std::move(x)};
  }
};

const OutputFigure& figure(const std::vector<OutputFigure>& figures, const std::string& name) {
  return *std::ranges::find(figures, name, &OutputFigure::name);
}

TEST(SeveralOutputs, each_has_its_figure_and_the_quiet_one_is_not_drowned) {
  Drawn samples;
  const QuantizeResult result =
      quantize(two_products(), &samples,
               {.precision = parse_quantized_precision("int8"), .effort = Effort::fast});
  ASSERT_TRUE(result.held_back);
  const auto& outputs = result.held_back->outputs;
  ASSERT_EQ(outputs.size(), 2U);
  EXPECT_EQ(worst_of(outputs).name, "quiet");
  EXPECT_GT(figure(outputs, "loud").sqnr_db, 35);
  EXPECT_LT(figure(outputs, "quiet").sqnr_db, 30);
  // The mean of both noises, so 3 dB from the worse one.
  EXPECT_NEAR(result.held_back->sqnr_db, figure(outputs, "quiet").sqnr_db + 3, 0.5);
}

TEST(SeveralOutputs, a_limit_and_a_target_hold_for_every_output) {
  Drawn samples;
  const QuantizeOptions options{.precision = parse_quantized_precision("int8"),
                                .effort = Effort::fast,
                                .set_choosing_apart = true};
  const TuneResult result =
      tune(two_products(), samples, {.quantize = options, .target = parse_target("sqnr_db>38")});
  EXPECT_TRUE(result.reached);
  EXPECT_TRUE(result.verdict.pass());
  ASSERT_EQ(result.outputs.size(), 2U);
  for (const OutputFigure& output : result.outputs) EXPECT_GT(output.surely(), 38) << output.name;
  EXPECT_FALSE(result.kept.empty());
}

// A model that nothing can be kept in, and a target between the figure and the low end of its
// interval.
TEST(SeveralOutputs, a_target_that_only_the_figure_reaches_is_not_certain) {
  Drawn samples;
  const Model model = two_products();
  const QuantizeResult made = quantize(
      model, &samples, {.precision = parse_quantized_precision("int8"), .effort = Effort::fast});
  SharedSamples shared(samples);
  const OutputScorer choosing(model, {shared, {0, 1, 2, 3, 4, 5, 6, 7}, 1});
  const OutputScorer held_back(model, {shared, {8, 9, 10, 11, 12, 13, 14, 15}, 1});
  const TunedModel tuned{.nodes = {},
                         .write = [&](const auto&) { return made.model.clone(); },
                         .write_alone = [&](std::size_t) { return made.model.clone(); },
                         .choosing = choosing,
                         .held_back = held_back,
                         .go_on = [] { return true; }};
  const OutputFigure worst = worst_of(figures_of(held_back.score(made.model).noise));
  ASSERT_LT(worst.surely() + 0.1, worst.sqnr_db);
  Limit target = parse_target("sqnr_db>0");
  target.value = (worst.surely() + worst.sqnr_db) / 2;
  const TuneResult result = search_kept(tuned, target);
  EXPECT_FALSE(result.reached);
  EXPECT_TRUE(result.uncertain);
  // It fails by the end of the interval that counts.
  ASSERT_FALSE(result.verdict.failures.empty());
  const Failure& failure = result.verdict.failures[0];
  EXPECT_EQ(failure.limit, opposite(target));
  EXPECT_LT(failure.value, target.value);
  EXPECT_NEAR(result.value, worst.sqnr_db, 1e-9);
  ASSERT_TRUE(result.samples_to_decide);
  EXPECT_GT(*result.samples_to_decide, 4 * 8);
  target.value = worst.sqnr_db + 1;
  const TuneResult missed = search_kept(tuned, target);
  ASSERT_FALSE(missed.verdict.failures.empty());
  const std::vector<Failure> of_worst = failures_of(missed.verdict, worst.name);
  ASSERT_EQ(of_worst.size(), 1U);
  EXPECT_NEAR(of_worst[0].value, worst.sqnr_db, 1e-9);
  target.value = worst.surely() - 0.1;
  EXPECT_TRUE(search_kept(tuned, target).reached);
}

TEST(SeveralOutputs, products_without_an_integer_kernel_are_counted_as_float) {
  const Model model = GraphBuilder()
                          .input("x", DType::f32, {{1}, {2}, {4}, {4}})
                          .output("y")
                          .weight(numbers("w", {2, 2, 1, 1}, 1, 1))
                          .weight(numbers("v", {2, 2, 2, 2}, 2, 1))
                          .node("Conv", {"x", "w"}, {"c"})
                          .node("ConvTranspose", {"c", "v"}, {"y"})
                          .model();
  class Images : public Samples {
   public:
    std::int64_t size() const override { return 16; }
    std::vector<Tensor> sample(std::int64_t index) override {
      return {numbers("x", {1, 2, 4, 4}, index, 1)};
    }
  } samples;
  const QuantizeResult result = quantize(
      model, &samples, {.precision = parse_quantized_precision("int8"), .effort = Effort::fast});
  EXPECT_EQ(result.quantized_nodes, 2);
  EXPECT_EQ(result.integer_kernels, (std::map<std::string, std::int64_t>{{"QLinearConv", 1}}));
  EXPECT_EQ(result.float_kernels, (std::map<std::string, std::int64_t>{{"ConvTranspose", 1}}));
}

}  // namespace
}  // namespace vernier
