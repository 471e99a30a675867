// Real models of other people, where the folder beside the repository has them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/analysis/check/checking.h"
#include "tests/fixture.h"
#include "tests/shared_data.h"
#include "vernier/runtime/ort_runner.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;

Findings errors(const fs::path& model) {
  Findings found = check(model, {.runtime = {.threads = 1}}).findings;
  std::erase_if(found, [](const Finding& finding) { return finding.severity != Severity::error; });
  return found;
}

TEST(CheckWild, weights_with_an_explicit_default_location_are_opened_and_run) {
  const fs::path path = shared_data("wild/mobilenet/mobilenetv2_int8_dynamic.onnx");
  if (!fs::exists(path)) GTEST_SKIP() << path << " is not there";
  OrtRunner runner(Model::load(path), {});
  const Tensor image = make_tensor(runner.inputs()[0].name, DType::f32, {1, 3, 224, 224});
  const auto outputs = runner.run(std::vector{image});
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_EQ(outputs[0].shape, (Shape{1, 1000}));
}

TEST(CheckWild, models_that_run_and_match_their_reference_are_sound) {
  if (!fs::exists(shared_data("wild"))) GTEST_SKIP() << shared_data("wild") << " is not there";
  for (const char* name :
       {"wild/cifar/resnet_int8_static.onnx", "wild/cifar/resnet_int8_dynamic.onnx",
        "wild/cifar/tinycnn_int8_qoperator.onnx", "wild/steel/v1_int8_qdq.onnx",
        "wild/steel/v2_int8_qoperator.onnx", "wild/mobilenet/mobilenetv2_int8_dynamic.onnx",
        "wild/credit/credit_int8.onnx", "lm/model.onnx", "lm/model.int4.onnx"})
    EXPECT_THAT(errors(shared_data(name)), testing::IsEmpty()) << name;
}

TEST(CheckWild, sizes_that_crash_a_kernel_are_not_tried) {
  if (!fs::exists(shared_data("wild/ort")))
    GTEST_SKIP() << shared_data("wild/ort") << " is not there";
  for (const auto& entry : fs::directory_iterator(shared_data("wild/ort")))
    EXPECT_THAT(errors(entry.path()), testing::IsEmpty()) << entry.path();
}

}  // namespace
}  // namespace vernier
