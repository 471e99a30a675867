#include "vernier/analysis/evidence/norm_fit.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/batch_norms.h"
#include "vernier/model/index.h"

namespace vernier {
namespace {

class Pairs : public Samples {
 public:
  explicit Pairs(std::vector<float> values) : values_(std::move(values)) {}
  std::int64_t size() const override { return 1; }
  std::vector<Tensor> sample(std::int64_t) override {
    return {tensor_of("x", DType::f32, {std::ssize(values_) / 2, 1, 2}, values_)};
  }

 private:
  std::vector<float> values_;
};

TEST(NormFit, inputs_with_the_moments_of_training_fit) {
  Pairs samples({-1, 1});
  const auto fit = measure_norm_fit(ModelIndex(batch_norms(25)), samples, {});
  ASSERT_TRUE(fit);
  EXPECT_EQ(fit->norms, 25);
  EXPECT_NEAR(fit->score, 0, 1e-3);  // epsilon makes each a little smaller
  EXPECT_TRUE(fit->fits());
}

TEST(NormFit, a_shift_of_two_deviations_is_a_score_of_two) {
  Pairs samples({1, 3});
  const auto fit = measure_norm_fit(ModelIndex(batch_norms(25)), samples, {});
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->score, 2, 0.01);
  EXPECT_FALSE(fit->fits());
}

TEST(NormFit, a_constant_input_is_infinitely_far) {
  Pairs samples({0, 0});
  EXPECT_EQ(measure_norm_fit(ModelIndex(batch_norms(25)), samples, {})->score, INFINITY);
}

TEST(NormFit, an_empty_batch_tells_nothing) {
  Pairs samples({});
  EXPECT_EQ(measure_norm_fit(ModelIndex(batch_norms(25)), samples, {}), std::nullopt);
}

TEST(NormFit, two_batch_norms_of_one_tensor_count_both) {
  Model model = batch_norms(24);
  vernier_onnx::NodeProto& second = *model.graph().add_node();
  second = model.graph().node(1);
  second.set_name("second");
  second.set_output(0, "second");
  Pairs samples({-1, 1});
  const auto fit = measure_norm_fit(ModelIndex(model), samples, {});
  ASSERT_TRUE(fit);
  EXPECT_EQ(fit->norms, 25);
}

TEST(NormFit, few_batch_norms_tell_nothing) {
  Pairs samples({-1, 1});
  EXPECT_EQ(measure_norm_fit(ModelIndex(batch_norms(24)), samples, {}), std::nullopt);
}

}  // namespace
}  // namespace vernier
