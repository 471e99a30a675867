#include "vernier/analysis/quantize/bias_correction.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/model_builder.h"
#include "vernier/data/samples.h"
#include "vernier/runtime/ort_runner.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

// x [1, 2, 2] times three matrices in a row, each with a bias that a MatMul's Add puts on.
Model chain(float error) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{1, ""}, {2, ""}, {2, ""}});
  std::string tensor = "x";
  for (int i = 0; i < 3; ++i) {
    const std::string number = std::to_string(i);
    builder.weight(tensor_of<float>("w" + number, DType::f32, {2, 2}, {1 + error, 0.5F, -0.5F, 1}));
    builder.weight(tensor_of<float>("b" + number, DType::f32, {2}, {0.5F, -0.25F}));
    builder.node("MatMul", {tensor, "w" + number}, {"m" + number});
    builder.node("Add", {"m" + number, "b" + number}, {"a" + number});
    tensor = "a" + number;
  }
  return builder.output(tensor, DType::f32, {{1, ""}, {2, ""}, {2, ""}}).model();
}

class Fixed : public Samples {
 public:
  std::int64_t size() const override { return 16; }
  std::vector<Tensor> sample(std::int64_t index) override {
    const auto at = static_cast<float>(index);
    return {tensor_of<float>("x", DType::f32, {1, 2, 2}, {1 + 0.01F * at, 2, 3, 4 - 0.02F * at})};
  }
};

std::vector<double> means(const Model& model, const std::string& tensor, const BiasShifts& shifts,
                          const PlacementPlan& plan) {
  std::vector<std::string> watched;
  std::map<std::string, std::string> names;
  for (const PlacedNode& node : plan.nodes) {
    watched.push_back(node.output);
    names[node.output] = node.name;
  }
  watched.push_back(tensor);
  OrtRunner runner(model.clone(), {.watch = Watch::only(watched), .exact = true});
  std::vector<double> sums(2);
  Fixed samples;
  for (std::int64_t i = 0; i < samples.size(); ++i)
    runner.run(samples.sample(i), [&](const ObservedTensor& seen) {
      if (const auto shift = shifts.find(names[std::string(seen.name)]); shift != shifts.end())
        for (std::size_t j = 0; j < 4; ++j)
          reinterpret_cast<float*>(seen.writable.data())[j] += float(shift->second[j % 2]);
      if (seen.name != tensor) return;
      const std::vector<double> values = to_f64(seen);
      for (std::size_t j = 0; j < values.size(); ++j) sums[j % 2] += values[j];
    });
  for (double& sum : sums) sum /= 2.0 * 16;
  return sums;
}

BiasShifts shifts_of(const Model& real, const Model& wrong, const PlacementPlan& plan,
                     const SampleRuns& runs) {
  return find_bias_shifts(measure_means(real, plan.nodes, runs), wrong, plan.nodes, runs);
}

TEST(BiasCorrection, brings_back_the_mean_of_every_layer_not_only_of_the_first) {
  const Model real = chain(0), wrong = chain(0.1F);
  const PlacementPlan plan = place_quantizers(ModelIndex(real), {});
  ASSERT_EQ(plan.nodes.size(), 3U);
  Fixed samples;
  SharedSamples shared(samples);
  std::vector<std::int64_t> all(16);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = std::int64_t(i);
  const BiasShifts shifts = shifts_of(real, wrong, plan, {shared, all, 2});
  ASSERT_EQ(shifts.size(), 3U);
  for (const char* tensor : {"m0", "m1", "m2"}) {
    const auto wanted = means(real, tensor, {}, plan), found = means(wrong, tensor, shifts, plan);
    for (std::size_t i = 0; i < wanted.size(); ++i)
      EXPECT_NEAR(found[i], wanted[i], 2e-3 * std::fabs(wanted[i])) << tensor;
  }
  EXPECT_EQ(shifts_of(real, wrong, plan, {shared, all, 1}), shifts);
}

TEST(BiasCorrection, what_does_not_look_promising_is_not_refined) {
  const Model real = chain(0), wrong = chain(0.1F);
  const PlacementPlan plan = place_quantizers(ModelIndex(real), {});
  Fixed samples;
  SharedSamples shared(samples);
  const SampleRuns runs{shared, {0, 1, 2, 3, 4, 5, 6, 7}, 1};
  const std::vector<NodeMeans> means = measure_means(real, plan.nodes, runs);
  BiasShifts first;
  const auto keep = [&](bool goes_on) {
    return [&first, goes_on](const BiasShifts& shifts) {
      first = shifts;
      return goes_on;
    };
  };
  EXPECT_EQ(find_bias_shifts(means, wrong, plan.nodes, runs, keep(false)), first);
  const BiasShifts refined = find_bias_shifts(means, wrong, plan.nodes, runs, keep(true));
  EXPECT_NE(refined, first);
  EXPECT_EQ(refined, shifts_of(real, wrong, plan, runs));
}

TEST(BiasCorrection, nothing_is_corrected_where_nothing_differs) {
  const Model real = chain(0);
  const PlacementPlan plan = place_quantizers(ModelIndex(real), {});
  Fixed samples;
  SharedSamples shared(samples);
  for (const auto& [node, shift] : shifts_of(real, real, plan, {shared, {0, 1, 2, 3}, 1}))
    for (const double each : shift) EXPECT_EQ(each, 0) << node;
}

TEST(BiasCorrection, what_may_be_chance_is_lessened_down_to_nothing) {
  EXPECT_EQ(certain_mean(std::vector<double>{2, 2, 2, 2}), 2);
  EXPECT_EQ(certain_mean(std::vector<double>{5, -5, 5, -4.9}), 0);
  const double between = certain_mean(std::vector<double>{1, 3, 2, 1.5});
  EXPECT_GT(between, 1.7);
  EXPECT_LT(between, 1.875);
  EXPECT_EQ(certain_mean(std::vector<double>{3}), 3);
}

}  // namespace
}  // namespace vernier
