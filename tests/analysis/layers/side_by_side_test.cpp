#include "vernier/analysis/layers/side_by_side.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/arrays.h"
#include "tests/temporary_directory.h"
#include "vernier/runtime/recorded_runner.h"

namespace vernier {
namespace {

using ::testing::ElementsAre;

class SideBySideTest : public ::testing::Test {
 protected:
  RecordedRunner recorded(const std::string& name, const std::vector<Tensor>& tensors) {
    return RecordedRunner(write_npz(folder / name, tensors));
  }
  TemporaryDirectory folder;
};

TEST_F(SideBySideTest, pairs_are_shown_tensor_by_tensor_and_all_layers_are_noted) {
  auto reference = recorded("r.npz", {ramp("a", {2, 3}), ramp("b", {2, 3}), ramp("c", {2, 4})});
  auto candidate = recorded("c.npz", {ramp("x", {2, 3}), ramp("y", {2, 3})});
  const std::vector<Layer> layers = {{.name = "a"}, {.name = "b"}, {.name = "c"}};
  const std::vector<CandidateTensor> tensors = {{.name = "x"}, {.name = "y"}};
  const std::vector<LayerPair> pairs = {{0, 0}, {1, 0}, {1, 1}};
  SideBySide side_by_side(reference, candidate, tensors);
  std::vector<std::string> shown;
  const auto seen = side_by_side.run(
      1, {}, layers,
      {.pairs = pairs,
       .visit = [&](const LayerPair&, const Tensor& layer, const TensorView& tensor) {
         shown.push_back(layer.name + std::string(tensor.name));
         EXPECT_EQ(elements<float>(layer.view())[0], 3);  // sample 1
       }});
  EXPECT_THAT(shown, ElementsAre("ax", "bx", "by"));
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen[2].name, "c");
  EXPECT_EQ(seen[2].shape, (Shape{4}));
}

TEST_F(SideBySideTest, a_layer_that_does_not_run_is_in_no_pair) {
  auto reference = recorded("r.npz", {ramp("a", {1, 3})});
  auto candidate = recorded("c.npz", {ramp("x", {1, 3})});
  const std::vector<Layer> layers = {{.name = "a"}, {.name = "idle"}};
  const std::vector<CandidateTensor> tensors = {{.name = "x"}};
  const std::vector<LayerPair> pairs = {{1, 0}};
  int visits = 0;
  SideBySide(reference, candidate, tensors)
      .run(0, {}, layers,
           {.pairs = pairs,
            .visit = [&](const LayerPair&, const Tensor&, const TensorView&) { ++visits; }});
  EXPECT_EQ(visits, 0);
}

}  // namespace
}  // namespace vernier
