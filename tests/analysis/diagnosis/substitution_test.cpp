#include "vernier/analysis/diagnosis/substitution.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/arrays.h"
#include "tests/model_builder.h"
#include "tests/temporary_directory.h"
#include "vernier/model/index.h"

namespace vernier {
namespace {

// Two samples of one number, 1 and 5.
class OneAndFive : public Samples {
 public:
  std::int64_t size() const override { return 2; }
  std::vector<Tensor> sample(std::int64_t index) override {
    return {tensor_of<float>("x", DType::f32, {1}, {index == 0 ? 1.0F : 5.0F})};
  }
};

TEST(Substitution, a_recorded_layer_is_that_of_the_sample) {
  const TemporaryDirectory folder;
  write_npz(folder / "reference.npz", {tensor_of<float>("h", DType::f32, {2, 1}, {2, 6}),
                                       tensor_of<float>("y", DType::f32, {2, 1}, {5, 17})});
  GraphBuilder candidate;  // y = 2h + x, as in the reference, but h is not x + 1
  candidate.input("x", DType::f32, {{1, ""}})
      .output("y", DType::f32, {{1, ""}})
      .weight(tensor_of<float>("two", DType::f32, {1}, {2}))
      .node("Neg", {"x"}, {"h"})
      .node("Mul", {"h", "two"}, {"twice"})
      .node("Add", {"twice", "x"}, {"y"});
  const auto second = select_samples(std::make_unique<OneAndFive>(), 1, 1);
  const auto outputs =
      outputs_with_layer({.layer = "h", .tensor = "h", .compared = true}, candidate.model(),
                         *second, {.reference = {.reference = folder / "reference.npz"}});
  ASSERT_TRUE(outputs);
  const auto y = std::ranges::find(*outputs, "y", &PairResult::name);
  ASSERT_NE(y, outputs->end());
  EXPECT_EQ(y->similarity.statistics[0].mean, INFINITY);
}

}  // namespace
}  // namespace vernier
