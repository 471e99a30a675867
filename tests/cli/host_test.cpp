// References that a host runs: the real binary with real hosts.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <vernier_onnx.pb.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

#include "tests/arrays.h"
#include "tests/cli/run.h"
#include "tests/model_builder.h"
#include "tests/temporary_directory.h"

namespace vernier {
namespace {

using testing::CompletedProcess;
using testing::expect_error;
using testing::expect_valid_json;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::run_program;
using testing::run_vernier;

Tensor weight(const std::string& name, Shape shape, float first) {
  Tensor tensor = make_tensor(name, DType::f32, std::move(shape));
  for (float& element : elements<float>(tensor)) element = first = -0.8F * first + 0.1F;
  return tensor;
}

// Linear, ReLU, Linear: as an ONNX model, and its weights as a host may have them.
struct SmallModel {
  std::vector<Tensor> weights = {weight("first.weight", {4, 3}, 1), weight("first.bias", {4}, 2),
                                 weight("second.weight", {2, 4}, 3), weight("second.bias", {2}, 4)};

  void save(const std::filesystem::path& path) const {
    const auto transposed = int_attribute("transB", 1);
    GraphBuilder graph;
    graph.input("x", DType::f32, {{1, ""}, {3, ""}}).output("y", DType::f32, {{1, ""}, {2, ""}});
    for (const Tensor& each : weights) graph.weight(each);
    graph.node("Gemm", {"x", "first.weight", "first.bias"}, {"first"}, {transposed})
        .node("Relu", {"first"}, {"relu"})
        .node("Gemm", {"relu", "second.weight", "second.bias"}, {"y"}, {transposed});
    graph.model().save(path);
  }
};

std::string example_host(const std::string& python, const std::string& name,
                         const std::filesystem::path& file) {
  return "host:'" + python + "' '" VERNIER_EXAMPLES "/hosts/" + name + "' '" + file.string() + "'";
}

struct ExampleHosts : ::testing::Test {
  CompletedProcess layers(const std::string& reference, std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments = {"layers", (folder / "model.onnx").string(), "--reference",
                                          reference};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_vernier(arguments);
  }
  TemporaryDirectory folder;
  SmallModel model;
};

TEST_F(ExampleHosts, numpy_agrees_with_onnx_runtime) {
  if (!std::filesystem::exists(VERNIER_PYTHON)) GTEST_SKIP() << "no numpy: scripts/setup.sh test";
  model.save(folder / "model.onnx");
  write_npz(folder / "weights.npz", model.weights);
  const CompletedProcess outcome =
      layers(example_host(VERNIER_PYTHON, "numpy_host.py", folder / "weights.npz"));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("layers             3: "));
  EXPECT_THAT(outcome.out, HasSubstr("reference          host:python numpy_host.py weights.npz\n"));
  EXPECT_THAT(outcome.out, HasSubstr("reference runs in  numpy "));
}

TEST_F(ExampleHosts, a_weight_that_numpy_has_otherwise_is_the_cause) {
  if (!std::filesystem::exists(VERNIER_PYTHON)) GTEST_SKIP() << "no numpy: scripts/setup.sh test";
  model.save(folder / "model.onnx");
  elements<float>(model.weights[2])[5] += 0.5F;
  write_npz(folder / "weights.npz", model.weights);
  const CompletedProcess outcome =
      layers(example_host(VERNIER_PYTHON, "numpy_host.py", folder / "weights.npz"));
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("weight_bit_mismatch"));
  EXPECT_THAT(outcome.out, HasSubstr("second.weight"));
}

// As a module self.first of a model with forward(self, first).
TEST_F(ExampleHosts, a_layer_with_the_name_of_the_input_is_no_input) {
  if (!std::filesystem::exists(VERNIER_PYTHON)) GTEST_SKIP() << "no numpy: scripts/setup.sh test";
  const auto transposed = int_attribute("transB", 1);
  GraphBuilder graph;
  graph.input("first", DType::f32, {{1, ""}, {3, ""}}).output("y", DType::f32, {{1, ""}, {2, ""}});
  for (const Tensor& each : model.weights) graph.weight(each);
  graph
      .node("Gemm", {"first", "first.weight", "first.bias"}, {"/first/Gemm_output_0"}, {transposed})
      .node("Relu", {"/first/Gemm_output_0"}, {"relu"})
      .node("Gemm", {"relu", "second.weight", "second.bias"}, {"y"}, {transposed});
  graph.model().save(folder / "model.onnx");
  write_npz(folder / "weights.npz", model.weights);
  const CompletedProcess outcome =
      layers(example_host(VERNIER_PYTHON, "numpy_host.py", folder / "weights.npz"), {"-f", "md"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("| first | Linear | scope | [1,4] |"));
}

// The last tensor that leaves the scope of `first` is a sum of its elements.
TEST_F(ExampleHosts, a_tensor_of_another_size_is_not_the_layers) {
  if (!std::filesystem::exists(VERNIER_PYTHON)) GTEST_SKIP() << "no numpy: scripts/setup.sh test";
  const auto transposed = int_attribute("transB", 1);
  GraphBuilder graph;
  graph.input("x", DType::f32, {{1, ""}, {3, ""}}).output("y", DType::f32, {{1, ""}, {2, ""}});
  for (const Tensor& each : model.weights) graph.weight(each);
  graph.weight(make_tensor("zero", DType::f32, {1}))
      .node("Gemm", {"x", "first.weight", "first.bias"}, {"/first/Gemm_output_0"}, {transposed})
      .node("ReduceSum", {"/first/Gemm_output_0"}, {"/first/ReduceSum_output_0"})
      .node("Mul", {"/first/ReduceSum_output_0", "zero"}, {"nothing"})
      .node("Add", {"/first/Gemm_output_0", "nothing"}, {"sum"})
      .node("Relu", {"sum"}, {"relu"})
      .node("Gemm", {"relu", "second.weight", "second.bias"}, {"y"}, {transposed});
  graph.model().save(folder / "model.onnx");
  write_npz(folder / "weights.npz", model.weights);
  const CompletedProcess outcome =
      layers(example_host(VERNIER_PYTHON, "numpy_host.py", folder / "weights.npz"), {"-f", "md"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("| first | Linear | value | [1,4] |"));
}

// Each half of `first` has its own Relu: no tensor is the whole layer.
TEST_F(ExampleHosts, a_layer_that_is_computed_in_halves_is_fused) {
  if (!std::filesystem::exists(VERNIER_PYTHON)) GTEST_SKIP() << "no numpy: scripts/setup.sh test";
  const auto transposed = int_attribute("transB", 1);
  const auto half = [&](const Tensor& whole, const std::string& name, std::size_t which) {
    Tensor part = make_tensor(name, DType::f32, whole.shape);
    part.shape[0] /= 2;
    part.bytes.resize(whole.bytes.size() / 2);
    std::ranges::copy_n(whole.bytes.begin() + which * part.bytes.size(), part.bytes.size(),
                        part.bytes.begin());
    return part;
  };
  GraphBuilder graph;
  graph.input("x", DType::f32, {{1, ""}, {3, ""}}).output("y", DType::f32, {{1, ""}, {2, ""}});
  for (const std::size_t i : {0, 1}) {
    const std::string number = std::to_string(i), product = "/first/Gemm_" + number;
    graph.weight(half(model.weights[0], "w" + number, i))
        .weight(half(model.weights[1], "b" + number, i))
        .node("Gemm", {"x", "w" + number, "b" + number}, {product}, {transposed})
        .node("Relu", {product}, {"half" + number});
  }
  graph.weight(model.weights[2])
      .weight(model.weights[3])
      .node("Concat", {"half0", "half1"}, {"relu"}, {int_attribute("axis", 1)})
      .node("Gemm", {"relu", "second.weight", "second.bias"}, {"y"}, {transposed});
  graph.model().save(folder / "model.onnx");
  write_npz(folder / "weights.npz", model.weights);
  const CompletedProcess outcome =
      layers(example_host(VERNIER_PYTHON, "numpy_host.py", folder / "weights.npz"),
             {"-f", "md", "--no-weights"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("| first | Linear | fused | [1,4] |"));
}

TEST_F(ExampleHosts, openvino_shows_the_tensors_of_another_engine) {
  const std::string python = VERNIER_TORCH2_PYTHON;
  if (run_program({python, "-c", "import openvino"}).exit_code != 0)
    GTEST_SKIP() << "no OpenVINO: scripts/setup.sh torch2";
  model.save(folder / "model.onnx");
  const CompletedProcess same =
      layers(example_host(python, "openvino_host.py", folder / "model.onnx"));
  EXPECT_EQ(same.exit_code, 0) << same.out << same.err;
  EXPECT_THAT(same.out, HasSubstr("openvino 20"));
  elements<float>(model.weights[2])[5] += 0.5F;
  model.save(folder / "other.onnx");
  const CompletedProcess other =
      layers(example_host(python, "openvino_host.py", folder / "other.onnx"));
  EXPECT_EQ(other.exit_code, 1) << other.out << other.err;
  EXPECT_THAT(other.out, HasSubstr("drift origin: y (Add)"));
}

constexpr const char* net = R"(
import sys, time, torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.conv = nn.Conv2d(1, 4, 3)
        self.norm = nn.BatchNorm2d(4)
        self.relu = nn.ReLU(inplace=True)
        self.head = nn.Linear(4, 3)
    def forward(self, x):
        return {"logits": self.head(self.relu(self.norm(self.conv(x))).mean((2, 3)))}

class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.lstm = nn.LSTM(3, 4, 2, batch_first=True, bidirectional=True)
        self.gru = nn.GRU(8, 4, batch_first=True)
        self.head = nn.Linear(4, 5)
    def forward(self, x):
        return self.head(self.gru(self.lstm(x)[0])[0])

def other_lstm():
    net = Recurrent()
    net.lstm.weight_hh_l1_reverse.data[5] *= 1.5
    return net

def other_gru():
    net = Recurrent()
    net.gru.bias_hh_l0.data.zero_()
    return net

def wrong():
    net = Net()
    net.head.weight.data[1] *= 1.5
    return net

def example():
    return Net(), torch.ones(1, 1, 8, 8)

def noisy():
    print("x" * 1000000)
    return Net()

def hanging():
    time.sleep(1000)

def failing():
    raise RuntimeError("\nno weights here\nmore")

if __name__ == "__main__":
    net = Net().eval()
    torch.onnx.export(net, (torch.ones(1, 1, 8, 8),), "net.onnx", input_names=["x"],
                      output_names=["logits"], dynamo=False)
    torch.save(net.state_dict(), "net.pth")
    torch.onnx.export(Recurrent().eval(), (torch.ones(2, 5, 3),), "recurrent.onnx", input_names=["x"],
                      output_names=["y"], dynamo=False)
)";

// One model, made once.
class PyTorchHost : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryDirectory;
    std::ofstream(*folder_ / "net.py") << net;
    made_ = run_program({VERNIER_TORCH2_PYTHON, "net.py"}, folder_->path()).exit_code == 0;
  }
  static void TearDownTestSuite() { delete folder_; }
  void SetUp() override {
    if (!made_) GTEST_SKIP() << "no PyTorch 2: scripts/setup.sh torch2";
  }
  static CompletedProcess run(const std::string& command, const std::string& reference,
                              std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {command,   "net.onnx", "--reference",
                                          reference, "--python", VERNIER_TORCH2_PYTHON};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_vernier(arguments, folder_->path());
  }

  static TemporaryDirectory* folder_;
  static bool made_;
};
TemporaryDirectory* PyTorchHost::folder_ = nullptr;
bool PyTorchHost::made_ = false;

TEST_F(PyTorchHost, layers_of_a_live_model_are_compared) {
  const CompletedProcess outcome = run("layers", "net.py:Net", {"--truth", "fp64", "-f", "json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  expect_valid_json("layers", outcome.out);
  EXPECT_THAT(outcome.out, HasSubstr(R"("reference": "net.py:Net")"));
  EXPECT_THAT(outcome.out, HasSubstr(R"("reference_runs_in": "python )"));
  EXPECT_THAT(outcome.out, HasSubstr("torch 2."));
  EXPECT_THAT(outcome.out, HasSubstr(R"("layers_total": 4)"));
}

TEST_F(PyTorchHost, a_weight_that_differs_is_found_by_name) {
  const CompletedProcess outcome = run("layers", "net.py:wrong");
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("weight_bit_mismatch"));
  EXPECT_THAT(outcome.out, HasSubstr("head.weight"));
  EXPECT_THAT(outcome.out, HasSubstr("drift origin: head (Linear) at net.py:14: "));
}

TEST_F(PyTorchHost, every_operator_is_a_layer_on_request) {
  const CompletedProcess outcome = run("layers", "net.py:noisy", {"--ops", "-f", "md"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("| head/addmm | aten.addmm |"));
  EXPECT_THAT(outcome.out, HasSubstr("| mean | aten.mean |"));
}

TEST_F(PyTorchHost, outputs_of_a_live_model_are_compared) {
  const CompletedProcess right = run("eval", "net.py:Net", {"--samples", "3", "-f", "json"});
  EXPECT_EQ(right.exit_code, 0) << right.out << right.err;
  expect_valid_json("compare", right.out);
  EXPECT_THAT(right.out, HasSubstr("torch 2."));
  EXPECT_EQ(run("eval", "net.py:wrong", {"--samples", "3"}).exit_code, 1);
}

// The batch norm behind a convolution is folded into its weight.
TEST_F(PyTorchHost, weights_of_a_live_model_are_compared_with_norms_folded_in) {
  const CompletedProcess outcome = run("eval", "net.py:Net", {"--samples", "3"});
  EXPECT_THAT(outcome.out, HasSubstr("weights  all 2 are the reference's")) << outcome.err;
}

// Between the LSTM and the GRU the exporter leaves out the transpose to batches first and back.
TEST_F(PyTorchHost, weights_of_recurrent_layers_are_compared_and_named) {
  const auto layers = [&](const std::string& reference) {
    return run_vernier(
        {"layers", "recurrent.onnx", "--reference", reference, "--python", VERNIER_TORCH2_PYTHON},
        folder_->path());
  };
  const CompletedProcess right = layers("net.py:Recurrent");
  EXPECT_EQ(right.exit_code, 0) << right.out << right.err;
  EXPECT_THAT(right.out, HasSubstr("weights  all 10 are the reference's"));
  for (const auto& [reference, layer, weight] :
       {std::array{"net.py:other_lstm", "lstm.0 (LSTM)", "lstm.weight_hh_l1"},
        {"net.py:other_gru", "gru.0 (GRU)", "gru.bias_ih_l0, bias_hh_l0"}}) {
    const CompletedProcess wrong = layers(reference);
    EXPECT_EQ(wrong.exit_code, 1) << wrong.err;
    EXPECT_THAT(wrong.out, HasSubstr("drift origin: " + std::string(layer)));
    EXPECT_THAT(wrong.out, HasSubstr("cause: weight_bit_mismatch: " + std::string(weight)));
    EXPECT_THAT(wrong.out, Not(HasSubstr("nothing in the candidate stands for it")));
  }
}

TEST_F(PyTorchHost, weights_of_a_file_are_put_into_a_class) {
  const CompletedProcess outcome = run("layers", "net.pth", {"--reference-model", "net.py:wrong"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  expect_error(run("layers", "net.pth", {"--reference-model", "net.py"}), "expected FILE.py:CLASS");
}

TEST_F(PyTorchHost, an_export_knows_its_reference) {
  const CompletedProcess exported =
      run_vernier({"export", "net.py:example", "-o", "exported", "--python", VERNIER_TORCH2_PYTHON},
                  folder_->path());
  EXPECT_EQ(exported.exit_code, 0) << exported.err;
  EXPECT_EQ(exported.out, "exported/model.onnx\nexported/model.json\n");
  for (const std::string command : {"layers", "eval"}) {
    const CompletedProcess outcome =
        run_vernier({command, (*folder_ / "exported").string(), "--samples", "2", "--python",
                     VERNIER_TORCH2_PYTHON});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("reference          net.py:example\n"));
  }
}

TEST_F(PyTorchHost, a_live_model_is_recorded_by_its_leaves) {
  const auto record = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"record", "--python", VERNIER_TORCH2_PYTHON, "-o"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_vernier(arguments, folder_->path());
  };
  const CompletedProcess leaves =
      record({"leaves.npz", "net.py:example", "--tensors", "inputs,leaves"});
  EXPECT_EQ(leaves.exit_code, 0) << leaves.err;
  EXPECT_EQ(leaves.out, "leaves.npz: 5 arrays of 1 sample\n");
  const CompletedProcess again = record(
      {"again.npz", "net.py:Net", "--input-data", "leaves.npz", "--tensors", "inputs,leaves"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  const CompletedProcess same = run_vernier(
      {"diff", "leaves.npz", "again.npz", "--fail-if", "max_abs_diff>0"}, folder_->path());
  EXPECT_EQ(same.exit_code, 0) << same.out << same.err;
  expect_error(record({"z.npz", "net.py:Net"}), "must return (model, example inputs)");
}

TEST_F(PyTorchHost, a_live_model_is_inspected) {
  const CompletedProcess outcome = run_vernier(
      {"inspect", "net.py:example", "--tensors", "--python", VERNIER_TORCH2_PYTHON, "-f", "json"},
      folder_->path());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  expect_valid_json("inspect", outcome.out);
  EXPECT_THAT(outcome.out, HasSubstr(R"("format": "hosted")"));
  EXPECT_THAT(outcome.out, HasSubstr("BatchNorm2d"));
}

TEST_F(PyTorchHost, an_export_is_checked_against_a_live_model) {
  const CompletedProcess right = run("check", "net.py:Net", {"-f", "json"});
  EXPECT_EQ(right.exit_code, 0) << right.out << right.err;
  expect_valid_json("check", right.out);
  EXPECT_THAT(right.out, HasSubstr(R"("answer": "same")"));
  const CompletedProcess wrong = run("check", "net.py:wrong");
  EXPECT_EQ(wrong.exit_code, 1) << wrong.out << wrong.err;
  EXPECT_THAT(wrong.out, HasSubstr("output-differs"));
  expect_error(run("check", "net.py:failing"), "RuntimeError: no weights here");
}

TEST_F(PyTorchHost, a_task_is_scored_beside_a_live_model) {
  Tensor images = weight("images", {12, 1, 8, 8}, 0.3F);
  Tensor labels = make_tensor("label", DType::i64, {12});
  for (std::size_t i = 0; i < 12; ++i)
    elements<std::int64_t>(labels)[i] = static_cast<std::int64_t>(i % 3);
  images.name = "x";
  write_npz(*folder_ / "data.npz", std::vector<Tensor>{images, labels});
  const std::vector<std::string> task = {
      "--task", "image-classification", "--dataset", "data.npz", "--k", "1"};
  const CompletedProcess same = run("eval", "net.py:Net", task);
  EXPECT_EQ(same.exit_code, 0) << same.out << same.err;
  EXPECT_THAT(same.out, HasSubstr("+0.0000"));
  EXPECT_THAT(same.out, HasSubstr("reference      net.py:Net\n"));
}

TEST_F(PyTorchHost, components_of_a_composite_model_are_compared_one_by_one) {
  expect_error(run_vernier({"layers", "-m", "encoder=encoder.onnx", "-m", "decoder=decoder.onnx",
                            "--reference", "net.py:Net", "--python", VERNIER_TORCH2_PYTHON},
                           folder_->path()),
               "compare them one by one, with -m encoder.onnx, then -m decoder.onnx");
}

// As people have it: a folder that names its class, and a processor that knows the size of images.
constexpr const char* make_folder = R"(
import json, torch, transformers
torch.manual_seed(1)
config = transformers.ResNetConfig(embedding_size=4, hidden_sizes=[4, 8], depths=[1, 1],
                                   layer_type="basic", num_labels=3)
transformers.ResNetForImageClassification(config).eval().save_pretrained("resnet")
with open("resnet/preprocessor_config.json", "w") as file:
    json.dump({"image_processor_type": "ConvNextImageProcessor", "size": {"shortest_edge": 40}}, file)
)";

TEST_F(PyTorchHost, a_folder_of_hugging_face_is_exported_converted_and_compared) {
  const CompletedProcess made =
      run_program({VERNIER_TORCH2_PYTHON, "-c", make_folder}, folder_->path());
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const CompletedProcess outcome =
      run_program({"env", "XDG_CACHE_HOME=" + (*folder_ / "cache").string(), VERNIER_BINARY, "eval",
                   "-m", "resnet", "--task", "image-classification", "--precision", "fp16",
                   "--samples", "4", "--python", VERNIER_TORCH2_PYTHON},
                  folder_->path());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("hf:resnet"));
  EXPECT_THAT(outcome.out, HasSubstr("fp16"));
}

TEST_F(PyTorchHost, layers_tell_the_line_that_calls_them) {
  const CompletedProcess outcome = run("layers", "net.py:Net", {"--ops", "-f", "json"});
  expect_valid_json("layers", outcome.out);
  EXPECT_THAT(outcome.out, HasSubstr(R"("source": "net.py:14")"));
}

TEST_F(PyTorchHost, what_goes_wrong_is_one_line) {
  expect_error(run("layers", "net.py:missing"), "net.py has no function 'missing'");
  expect_error(run("layers", "net.py:failing"), "RuntimeError: no weights here");
  expect_error(run("layers", "gone.py:f"), "gone.py: no such file");
  expect_error(run("layers", "net.py:hanging", {"--host-timeout", "12"}), "no answer for 12 s");
}

// What PyTorch's newer exporter makes hard: a module that is called twice, tensors that are called
// as another module, an argument that is called as a module, a batch norm folded under its own
// name, a branch that hardly shows.
constexpr const char* residual = R"(
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.conv = nn.Conv2d(1, 4, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(4)
        self.norm.running_mean.uniform_(-0.5, 0.5)
        self.norm.running_var.uniform_(0.5, 2)
        self.relu = nn.ReLU(inplace=True)
        self.up = nn.Linear(4, 4)
        self.act = nn.GELU()
        self.down = nn.Linear(4, 4)
        self.linear = nn.Linear(4, 3)
    def forward(self, up):
        y = self.relu(self.norm(self.conv(up)))
        y = self.relu(y - up).mean((2, 3))
        return self.linear(y + 1e-6 * self.down(self.act(self.up(y))))

def example():
    return Net(), torch.rand(1, 1, 8, 8)
)";

class DynamoExport : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(folder_ / "net.py") << residual;
    const CompletedProcess exported = run_vernier(
        {"export", "net.py:example", "-o", "exported", "--python", python}, folder_.path());
    if (exported.exit_code != 0) GTEST_SKIP() << "no PyTorch 2: scripts/setup.sh torch2";
  }
  CompletedProcess layers(const std::string& model, const std::string& format) const {
    return run_vernier(
        {"layers", model, "--reference", "net.py:Net", "--python", python, "-f", format},
        folder_.path());
  }

  const std::string python = VERNIER_TORCH2_PYTHON;
  TemporaryDirectory folder_;
};

TEST_F(DynamoExport, has_every_layer_in_its_place) {
  const CompletedProcess outcome = layers("exported/model.onnx", "md");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  for (const std::string row : {"| conv | Conv2d | fused |", "| norm | BatchNorm2d | metadata |",
                                "| relu | ReLU | metadata |", "| relu_1 | ReLU | metadata |",
                                "| up | Linear | metadata |", "| linear | Linear | metadata |"})
    EXPECT_THAT(outcome.out, HasSubstr(row));
  EXPECT_THAT(outcome.out, Not(HasSubstr("Weights that differ")));
}

// As onnxsim and ONNX Runtime's optimiser leave a graph.
void strip_metadata(const std::filesystem::path& from, const std::filesystem::path& to) {
  Model model = Model::load(from);
  for (auto& node : *model.graph().mutable_node()) node.clear_metadata_props();
  model.save(to);
}

TEST_F(DynamoExport, without_its_metadata_is_placed_by_what_the_export_wrote_beside_it) {
  strip_metadata(folder_ / "exported/model.onnx", folder_ / "exported/stripped.onnx");
  const CompletedProcess outcome = layers("exported/stripped.onnx", "md");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  for (const std::string row :
       {"| norm | BatchNorm2d | scope |", "| relu | ReLU | scope |", "| relu_1 | ReLU | scope |",
        "| up | Linear | scope |", "| linear | Linear | scope |"})
    EXPECT_THAT(outcome.out, HasSubstr(row));
}

// The exporter calls the first Linear's tensor "linear", which is the name of the last.
// Of operators too it is known which of them a convolution may have taken in.
TEST_F(DynamoExport, has_the_weights_of_every_operator) {
  const CompletedProcess outcome =
      run_vernier({"layers", "exported/model.onnx", "--reference", "net.py:Net", "--python", python,
                   "--ops", "-f", "json"},
                  folder_.path());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("\"weight_mismatches\": []"));
}

TEST_F(DynamoExport, names_that_lie_make_no_drift) {
  strip_metadata(folder_ / "exported/model.onnx", folder_ / "stripped.onnx");
  const CompletedProcess outcome = layers("stripped.onnx", "md");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("| up | Linear | value |"));
  EXPECT_THAT(outcome.out, HasSubstr("| linear | Linear | value |"));
}

TEST_F(DynamoExport, lacks_an_activation_that_hardly_shows) {
  Model model = Model::load(folder_ / "exported/model.onnx");
  auto& nodes = *model.graph().mutable_node();
  const auto gelu = std::ranges::find(nodes, "Gelu", &vernier_onnx::NodeProto::op_type);
  ASSERT_NE(gelu, nodes.end());
  gelu->set_op_type("Identity");
  gelu->clear_attribute();
  gelu->clear_metadata_props();
  model.save(folder_ / "faulty.onnx");
  const CompletedProcess outcome = layers("faulty.onnx", "text");
  EXPECT_EQ(outcome.exit_code, 1) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("drift origin: act"));
}

}  // namespace
}  // namespace vernier
