#include "vernier/runtime/torch_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vernier/error.h"
#include "vernier/version.h"

namespace vernier {
namespace {

using testing::Contains;
using testing::HasSubstr;

std::filesystem::path fixture(const std::string& name) {
  return std::filesystem::path(VERNIER_FIXTURES) / name;
}

class TorchRunnerTest : public testing::Test {
 protected:
  void SetUp() override {
    if (torch_version().empty()) GTEST_SKIP() << "this build has no libtorch";
  }
};

std::vector<Tensor> digit() { return {make_tensor("x", DType::f32, {1, 1, 28, 28})}; }

TEST_F(TorchRunnerTest, leaves_are_observed_in_execution_order) {
  const auto runner =
      open_torch_runner({.path = fixture("mnist/mnist_cnn.pt"), .watch_leaves = true});
  std::vector<std::string> observed;
  runner->run(digit(), [&](const TensorView& leaf) { observed.emplace_back(leaf.name); });
  std::vector<std::string> listed;
  for (const TorchLeaf& leaf : runner->leaves())
    if (leaf.not_captured.empty()) listed.push_back(leaf.path);
  EXPECT_EQ(observed, listed);
  EXPECT_THAT(observed, Contains("layer1.0.relu_1"));
}

TEST_F(TorchRunnerTest, a_traced_identity_is_reported_as_not_captured) {
  const auto runner = open_torch_runner({.path = fixture("mnist/mnist_cnn.pt")});
  const auto down = std::ranges::find(runner->leaves(), "layer1.0.down", &TorchLeaf::path);
  ASSERT_NE(down, runner->leaves().end());
  EXPECT_THAT(down->not_captured, HasSubstr("unchanged"));
}

TEST_F(TorchRunnerTest, watching_leaves_does_not_change_the_outputs) {
  const auto path = fixture("mnist/mnist_vit.pt");
  const auto bare = open_torch_runner({.path = path})->run(digit());
  const auto watched =
      open_torch_runner({.path = path, .watch_leaves = true})->run(digit(), [](const TensorView&) {
      });
  EXPECT_EQ(bare, watched);
}

}  // namespace
}  // namespace vernier
