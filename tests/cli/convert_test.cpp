#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/cli/run.h"
#include "tests/fixture.h"
#include "tests/model_builder.h"
#include "tests/oracle/numpy.h"
#include "tests/temporary_directory.h"
#include "vernier/version.h"

namespace vernier {
namespace {

using testing::CompletedProcess;
using testing::expect_error;
using ::testing::HasSubstr;
using testing::run_vernier;

class Convert : public ::testing::Test {
 protected:
  CompletedProcess convert(const std::string& model, const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {"convert", mnist + model, "--precision",
                                          "fp16",    "-o",          out};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_vernier(arguments);
  }

  TemporaryDirectory folder;
  std::string out = folder / "out.onnx";
};

TEST_F(Convert, a_converted_model_stays_above_45_db_of_its_original) {
  for (const char* model : {"mnist_cnn.onnx", "mnist_vit.onnx"}) {
    const CompletedProcess outcome = convert(model);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("nodes in float16"));
    const CompletedProcess compared =
        run_vernier({"eval", "--mode", "compare", "-m", out, "--reference", mnist + model,
                     "--samples", "5", "--fail-if", "sqnr_db<45"});
    EXPECT_EQ(compared.exit_code, 0) << compared.out << compared.err;
  }
}

TEST_F(Convert, torchvision_models_stay_above_45_db_of_pytorch) {
  if (torch_version().empty() || !oracle::python_with("torchvision"))
    GTEST_SKIP() << "needs libtorch and torchvision";
  // A small one: exporting vit_b_16 takes a minute. torchvision leaves the head at zero, which any
  // conversion keeps.
  std::ofstream(folder / "vit.py") << R"(
import torch, torchvision
def vit():
    model = torchvision.models.VisionTransformer(64, 16, 4, 4, 128, 512).eval()
    torch.nn.init.normal_(model.heads.head.weight, std=0.02)
    return model, (torch.randn(1, 3, 64, 64),)
)";
  for (const std::string& model :
       {std::string("torchvision/resnet18"), std::string("torchvision/mobilenet_v3_small"),
        (folder / "vit.py").string() + ":vit"}) {
    const CompletedProcess outcome =
        testing::run_program({"env", "XDG_CACHE_HOME=" + (folder / "cache").string(),
                              VERNIER_BINARY, "eval", "--mode", "compare", "-m", model,
                              "--precision", "fp16", "--samples", "2", "--fail-if", "sqnr_db<45"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  }
}

TEST_F(Convert, half_the_size_is_left) {
  convert("mnist_cnn.onnx");
  EXPECT_LT(std::filesystem::file_size(out),
            std::filesystem::file_size(mnist + "mnist_cnn.onnx") * 0.6);
}

TEST_F(Convert, inputs_and_outputs_become_half_on_request) {
  ASSERT_EQ(convert("mnist_cnn.onnx", {"--io", "fp16"}).exit_code, 0);
  EXPECT_EQ(
      run_vernier({"eval", "-m", out, "--reference", mnist + "mnist_cnn.onnx", "--samples", "2"})
          .exit_code,
      0);
}

TEST_F(Convert, kept_operators_are_listed_with_their_kind) {
  const CompletedProcess outcome =
      convert("mnist_cnn.onnx", {"--keep-fp32", "op:Gemm,Conv", "--keep-fp32", "tensor:logits"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out.find(" 0 nodes kept"), std::string::npos) << outcome.out;
}

// No opset up to 20 has these in float16.
TEST_F(Convert, operators_without_float16_are_kept_and_the_result_loads) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{1}, {4}}).output("y");
  builder.node("Neg", {"x"}, {"n"}).node("Celu", {"n"}, {"y"}).model().save(folder / "celu.onnx");
  const CompletedProcess outcome =
      run_vernier({"convert", folder / "celu.onnx", "--precision", "fp16", "-o", out});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(run_vernier({"check", out}).exit_code, 0);
  const std::string other = folder / "other.onnx";
  expect_error(run_vernier({"convert", folder / "celu.onnx", "--precision", "fp16", "--convert-all",
                            "-o", other}),
               "ONNX Runtime does not load it");
  EXPECT_FALSE(std::filesystem::exists(other));
}

// Operators of somebody's own are no fault of the conversion.
TEST_F(Convert, what_did_not_load_before_is_converted) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{1}, {4}}).output("y");
  vernier_onnx::ModelProto proto =
      builder.node("Neg", {"x"}, {"n"}).node("Foreign", {"n"}, {"y"}, {}, "own").proto();
  auto& own = *proto.add_opset_import();
  own.set_domain("own");
  own.set_version(1);
  Model(std::move(proto), {}, "own.onnx").save(folder / "own.onnx");
  const CompletedProcess outcome =
      run_vernier({"convert", folder / "own.onnx", "--precision", "fp16", "-o", out});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(std::filesystem::exists(out));
}

TEST_F(Convert, what_cannot_be_converted_is_an_error_and_writes_nothing) {
  std::ofstream(folder / "broken.onnx") << "no model";
  expect_error(run_vernier({"convert", folder / "broken.onnx", "--precision", "fp16", "-o", out}),
               "broken.onnx");
  expect_error(convert("mnist_cnn.onnx", {"--keep-fp32", "node:typo"}), "node:typo");
  expect_error(convert("mnist_cnn.onnx", {"--keep-fp32", "Softmax"}), "expected op:TYPE");
  expect_error(convert("nowhere.onnx"), "nowhere.onnx");
  EXPECT_FALSE(std::filesystem::exists(out));
}

}  // namespace
}  // namespace vernier
