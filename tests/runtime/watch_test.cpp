#include "vernier/runtime/watch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "vernier/error.h"

namespace vernier {
namespace {

std::vector<Tensor> outputs(const std::vector<float>& values) {
  Tensor tensor{.name = "y", .dtype = DType::f32, .shape = {std::ssize(values)}};
  tensor.bytes.resize(values.size() * sizeof(float));
  std::ranges::copy(std::as_bytes(std::span(values)), tensor.bytes.begin());
  return {tensor};
}

void compare(const std::vector<float>& unwatched, const std::vector<float>& watched) {
  require_unchanged("model.onnx", "other", outputs(unwatched), outputs(watched));
}

TEST(WatchedOutputs, may_round_otherwise) {
  EXPECT_NO_THROW(compare({1, 2}, {1, 2}));
  EXPECT_NO_THROW(compare({1, 2}, {1, 2.0000005f}));
  EXPECT_NO_THROW(compare({0, 1}, {-0.f, 1}));
  EXPECT_NO_THROW(compare({0}, {-0.f}));
  EXPECT_NO_THROW(compare({NAN, INFINITY, 1}, {NAN, INFINITY, 1}));
  EXPECT_NO_THROW(compare({}, {}));
}

TEST(WatchedOutputs, that_are_others_end_the_run) {
  EXPECT_THROW(compare({1, 2}, {1, 2.1f}), Error);
  EXPECT_THROW(compare({0}, {1}), Error);
  EXPECT_THROW(compare({1, 2}, {1, NAN}), Error);
  EXPECT_THROW(compare({INFINITY, 2}, {-INFINITY, 2}), Error);
  EXPECT_THROW(compare({1, 2}, {1}), Error);
}

}  // namespace
}  // namespace vernier
