#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>

#include "tests/cli/run.h"
#include "tests/temporary_directory.h"
#include "vernier/exporting/sidecar.h"
#include "vernier/runtime/ort_runner.h"
#include "vernier/runtime/torch_runner.h"
#include "vernier/version.h"

namespace vernier {
namespace {

using testing::can_export;
using testing::CompletedProcess;
using testing::expect_error;
using ::testing::HasSubstr;
using testing::read_text;
using testing::run_program;
using testing::run_vernier;

constexpr const char* model_file = R"(
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 3, 3, padding=1)
        self.norm = nn.BatchNorm2d(3)
        self.act = nn.ReLU(inplace=True)

    def forward(self, x):
        return self.act(x + self.act(self.norm(self.conv(x))))

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(Block(), Block())
        self.head = nn.Linear(3, 4)

    def forward(self, pixels):
        return {"logits": self.head(self.blocks(pixels).mean((2, 3)))}

def model():
    torch.manual_seed(0)
    return Model().eval(), torch.rand(1, 3, 8, 8)
)";

class ExportTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!can_export()) GTEST_SKIP() << "no python3 on PATH has PyTorch";
    std::ofstream(folder_ / "models.py") << model_file;
  }

  // Runs with the cache in the test's own folder.
  CompletedProcess run_cached(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(),
                     {"env", "XDG_CACHE_HOME=" + (folder_ / "cache").string(), VERNIER_BINARY});
    return run_program(arguments, folder_.path());
  }

  TemporaryDirectory folder_;
};

std::map<std::string, Tensor> by_name(std::vector<Tensor> tensors) {
  std::map<std::string, Tensor> result;
  for (Tensor& tensor : tensors) result.emplace(tensor.name, std::move(tensor));
  return result;
}

void expect_close(const Tensor& reference, const Tensor& candidate) {
  ASSERT_EQ(reference.shape, candidate.shape) << reference.name;
  const auto r = elements<float>(reference.view());
  const auto c = elements<float>(candidate.view());
  for (std::size_t i = 0; i < r.size(); ++i) ASSERT_NEAR(r[i], c[i], 1e-5) << reference.name;
}

Tensor pixels() {
  Tensor tensor = make_tensor("pixels", DType::f32, {2, 3, 8, 8});
  float value = 0;
  for (float& element : elements<float>(tensor)) element = std::sin(value++);
  return tensor;
}

TEST_F(ExportTest, the_exported_models_agree_layer_by_layer) {
  if (torch_version().empty()) GTEST_SKIP() << "this build has no libtorch";
  const CompletedProcess outcome =
      run_vernier({"export", "models.py:model", "-o", "out", "--instrument"}, folder_.path());
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "out/model.onnx\nout/model.pt\nout/model.layers.onnx\nout/model.json\n");

  const auto reference =
      open_torch_runner({.path = folder_ / "out/model.pt", .watch_leaves = true});
  OrtRunner candidate(Model::load(folder_ / "out/model.layers.onnx"));
  auto expected = reference->run(std::vector{pixels()}, {});
  reference->run(std::vector{pixels()},
                 [&](const TensorView& leaf) { expected.push_back(copy(leaf)); });
  const auto found = by_name(candidate.run(std::vector{pixels()}));
  EXPECT_EQ(found.size(), 10u);
  ASSERT_EQ(found.size(), expected.size());
  for (const Tensor& tensor : expected) {
    ASSERT_TRUE(found.contains(tensor.name)) << tensor.name;
    expect_close(tensor, found.at(tensor.name));
  }
}

TEST_F(ExportTest, the_sidecar_names_the_inputs_and_outputs_of_both_models) {
  ASSERT_EQ(run_vernier({"export", "models.py:model", "-o", "out"}, folder_.path()).exit_code, 0);
  const auto sidecar = read_sidecar(folder_ / "out/model.pt");
  const OrtRunner candidate(Model::load(folder_ / "out/model.onnx"));
  ASSERT_TRUE(sidecar);
  EXPECT_EQ(sidecar->inputs, candidate.inputs());
  EXPECT_EQ(sidecar->outputs, candidate.outputs());
}

TEST_F(ExportTest, why_a_model_cannot_be_exported_is_one_line) {
  expect_error(run_vernier({"export", "models.py:other", "-o", "out"}, folder_.path()),
               "[export] models.py:other: models.py has no function 'other'");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
}

TEST_F(ExportTest, one_that_is_interrupted_leaves_nothing_running_and_nothing_written) {
  std::ofstream(folder_ / "slow.py") << "import os, time, torch\n"
                                        "class Slow(torch.nn.Module):\n"
                                        "    def forward(self, x):\n"
                                        "        open('pid.new', 'w').write(str(os.getpid()))\n"
                                        "        os.rename('pid.new', 'pid')\n"
                                        "        time.sleep(1000)\n"
                                        "        return x\n"
                                        "def model():\n"
                                        "    return Slow(), torch.zeros(1, 2)\n";
  // While Python sleeps in the model: 130, and its process is gone.
  const std::string script =
      "\"$0\" export slow.py:model -o there/out & "
      "for i in $(seq 2400); do [ -e pid ] && break; kill -0 $! || break; sleep 0.05; done; "
      "kill -INT $!; wait $!; code=$?; "
      "runs() { grep -q 'State:.[^Z]' /proc/$(cat pid)/status 2>/dev/null; }; "
      "for i in $(seq 1200); do runs || break; sleep 0.05; done; "
      "runs && echo still running; exit $code";
  const CompletedProcess outcome =
      run_program({"sh", "-c", script, VERNIER_BINARY}, folder_.path());
  EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
  EXPECT_TRUE(std::filesystem::exists(folder_ / "pid"));
  EXPECT_TRUE(!std::filesystem::exists(folder_ / "there") ||
              std::filesystem::is_empty(folder_ / "there"));
}

TEST_F(ExportTest, an_interpreter_that_does_not_run_is_an_error) {
  expect_error(run_vernier({"export", "torchvision/resnet18", "-o", "out", "--python", "/nowhere"},
                           folder_.path()),
               "--python /nowhere: it does not run");
}

TEST_F(ExportTest, a_model_id_is_exported_once) {
  const std::vector<std::string> command = {"export", "torchvision/squeezenet1_1", "--shape",
                                            "1x3x32x32"};
  const CompletedProcess first = run_cached(command);
  ASSERT_EQ(first.exit_code, 0) << first.err;
  EXPECT_THAT(first.err, HasSubstr("random weights"));
  const CompletedProcess second = run_cached(command);
  EXPECT_EQ(second.out, first.out);
  EXPECT_EQ(second.err, "");
}

TEST_F(ExportTest, a_function_is_compared_with_its_own_reference_in_one_command) {
  if (torch_version().empty()) GTEST_SKIP() << "this build has no libtorch";
  const CompletedProcess outcome =
      run_cached({"eval", "--mode", "compare", "-m", "models.py:model", "--samples", "2"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("candidate  models.py:model (fp32)"));
  EXPECT_THAT(outcome.out, HasSubstr("logits [1,4]"));
}

TEST_F(ExportTest, a_function_is_exported_each_time) {
  const CompletedProcess first = run_cached({"export", "models.py:model"});
  ASSERT_EQ(first.exit_code, 0) << first.err;
  const std::string sidecar = first.out.substr(first.out.rfind('\n', first.out.size() - 2) + 1);
  const auto path = sidecar.substr(0, sidecar.size() - 1);
  std::ofstream(path) << "{}";
  ASSERT_EQ(run_cached({"export", "models.py:model"}).exit_code, 0);
  EXPECT_THAT(read_text(path), HasSubstr("logits"));
}

TEST_F(ExportTest, modules_of_the_current_folder_are_not_executed) {
  for (const char* name : {"vernier_export.py", "argparse.py", "importlib.py", "torch.py"})
    std::ofstream(folder_ / name) << "open('executed', 'w')\n";
  run_cached({"export", "torchvision/squeezenet1_1", "--shape", "1x3x32x32"});
  EXPECT_FALSE(std::filesystem::exists(folder_ / "executed"));
}

TEST(ExportWithoutPython, says_how_to_get_one) {
  expect_error(run_program({"/usr/bin/env", "PATH=/nowhere", VERNIER_BINARY, "export",
                            "models.py:f", "-o", "out"}),
               "no python3 on PATH has PyTorch (0 tried); install it (pip install torch)");
}

// A program that came without the module says so: here it is copied away from it.
TEST(TorchModule, is_asked_for_only_when_a_model_needs_it) {
  // An installation without the module.
  const TemporaryDirectory folder;
  const std::filesystem::path built = std::filesystem::path(VERNIER_BINARY).parent_path() / "..";
  for (const std::string name :
       {"bin/vernier", "lib/libvernier.so.0.1", "lib/vernier/libonnxruntime.so.1"}) {
    std::filesystem::create_directories((folder / name).parent_path());
    std::filesystem::copy(built / name, folder / name);
  }
  const std::string models = VERNIER_FIXTURES "/mnist/";
  expect_error(
      run_program({folder / "bin/vernier", "eval", "-m", models + "mnist_cnn.onnx", "--reference",
                   models + "mnist_cnn.pt"}),
      "libvernier_torch.so: not found: this build has no libtorch, which runs TorchScript; "
      "give the model itself (FILE.py:FUNCTION");
}

}  // namespace
}  // namespace vernier
