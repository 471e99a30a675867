// Runs every model of Debian's libonnx-testdata (one operator or small network each, with inputs)
// bare and with a probe on every tensor.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <vernier_onnx.pb.h>

#include <cstdio>
#include <fstream>
#include <set>

#include "vernier/error.h"
#include "vernier/model/graph.h"
#include "vernier/model/tensor_data.h"
#include "vernier/runtime/ort_runner.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;

const fs::path corpus = "/usr/share/libonnx-testdata/data";

std::vector<fs::path> all_models() {
  std::set<fs::path> found;
  for (const auto& entry : fs::recursive_directory_iterator(corpus))
    if (entry.path().filename() == "model.onnx") found.insert(entry.path());
  return {found.begin(), found.end()};
}

Tensor read_pb(const fs::path& path) {
  vernier_onnx::TensorProto proto;
  std::ifstream file(path, std::ios::binary);
  if (!proto.ParseFromIstream(&file)) throw Error("not a tensor: " + path.string());
  return read_tensor(proto, path.parent_path());
}

struct Sweep {
  int models = 0;
  int tensors = 0;
  std::vector<std::string> cannot_run;
  std::vector<std::string> failed;
};

// The corpus stores bfloat16 as uint16, for numpy's sake.
std::vector<Tensor> read_inputs(const fs::path& folder, const std::vector<TensorSpec>& specs) {
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    inputs.push_back(read_pb(folder / ("input_" + std::to_string(i) + ".pb")));
    if (specs[i].dtype == DType::bf16) inputs.back().dtype = DType::bf16;
  }
  return inputs;
}

bool is_random(const Model& model) {
  for (const GraphBody& body : graph_bodies(model.graph()))
    for (const auto& node : body.graph->node())
      if (node.op_type() == "Bernoulli" || node.op_type().starts_with("Random")) return true;
  return false;
}

void run_one(const fs::path& path, Sweep& sweep) {
  std::vector<Tensor> inputs;
  std::vector<Tensor> expected;
  try {
    OrtRunner bare(Model::load(path), {.optimization = Optimization::disabled, .threads = 1});
    inputs = read_inputs(path.parent_path() / "test_data_set_0", bare.inputs());
    expected = bare.run(inputs);
  } catch (const std::exception& error) {
    sweep.cannot_run.push_back(path.parent_path().filename().string() + ": " + error.what());
    return;
  }
  ++sweep.models;
  try {
    OrtRunner probed(Model::load(path), {.watch = Watch::all(), .threads = 1});
    std::set<std::string> seen;
    const auto outputs =
        probed.run(inputs, [&](const TensorView& tensor) { seen.emplace(tensor.name); });
    sweep.tensors += seen.size();
    if (outputs != expected && !is_random(Model::load(path)))
      sweep.failed.push_back(path.string() + ": outputs differ");
    for (const auto& name : probed.probes().watched)
      if (!seen.contains(name)) sweep.failed.push_back(path.string() + ": not seen: " + name);
  } catch (const std::exception& error) {
    sweep.failed.push_back(path.string() + ": " + error.what());
  }
}

TEST(OrtSweep, every_model_gives_the_same_outputs_with_probes_on_every_tensor) {
  if (!fs::exists(corpus)) GTEST_SKIP() << "libonnx-testdata is not installed";
  Sweep sweep;
  testing::internal::CaptureStderr();  // a thousand warnings about old operator sets
  for (const auto& path : all_models()) run_one(path, sweep);
  testing::internal::GetCapturedStderr();
  std::printf("%d models, %d tensors seen, %zu models that ONNX Runtime cannot run\n", sweep.models,
              sweep.tensors, sweep.cannot_run.size());
  for (const auto& name : sweep.cannot_run) std::printf("  %s\n", name.c_str());
  EXPECT_THAT(sweep.failed, testing::IsEmpty());
}

}  // namespace
}  // namespace vernier
