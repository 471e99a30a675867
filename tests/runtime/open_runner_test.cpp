#include "vernier/runtime/open_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/arrays.h"
#include "tests/temporary_directory.h"
#include "vernier/error.h"

namespace vernier {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

const std::filesystem::path mnist = std::filesystem::path(VERNIER_FIXTURES) / "mnist";

TEST(OpenRunner, the_ending_chooses_the_runner) {
  EXPECT_EQ(open_runner(mnist / "mnist_cnn.onnx")->outputs()[0].name, "logits");
  EXPECT_THAT(open_runner(mnist / "mnist_inputs.npz")->inputs(), IsEmpty());
  const TemporaryDirectory folder;
  write_npz(folder / "0.npz", {ramp("x", {2})});
  EXPECT_EQ(open_runner(folder.path())->outputs()[0].name, "x");
}

TEST(OpenRunner, a_torchscript_file_runs_where_libtorch_is) {
  EXPECT_EQ(model_format(mnist / "mnist_cnn.pt"), ModelFormat::torchscript);
}

TEST(OpenRunner, endings_may_be_in_capitals) {
  const TemporaryDirectory folder;
  std::ofstream(folder / "MODEL.ONNX") << "x";
  EXPECT_EQ(model_format(folder / "MODEL.ONNX"), ModelFormat::onnx);
}

TEST(OpenRunner, a_missing_file_and_an_unknown_ending_are_errors) {
  const TemporaryDirectory folder;
  EXPECT_THAT([&] { open_runner(folder / "none.onnx"); },
              ThrowsMessage<Error>(HasSubstr("none.onnx: no such file or folder")));
  std::ofstream(folder / "model.tflite") << "x";
  EXPECT_THAT([&] { open_runner(folder / "model.tflite"); },
              ThrowsMessage<Error>(HasSubstr("model.tflite: expected a model (.onnx")));
}

}  // namespace
}  // namespace vernier
