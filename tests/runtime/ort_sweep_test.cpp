// Runs every model of Debian's libonnx-testdata (one operator or small network each, with inputs
// and the outputs they should give) bare and with a probe on every tensor.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <vernier_onnx.pb.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <set>

#include "tests/model/read_tensor.h"
#include "vernier/error.h"
#include "vernier/model/graph.h"
#include "vernier/model/tensor_data.h"
#include "vernier/runtime/ort_runner.h"
#include "vernier/tensor/convert.h"

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
  int outputs = 0;  // compared with the stored ones
  std::vector<std::string> cannot_feed;
  std::vector<std::string> cannot_run;
  std::vector<std::string> failed;
};

// input_0.pb and so on. The corpus stores bfloat16 as uint16, for numpy's sake.
std::vector<Tensor> read_stored(const fs::path& folder, const std::string& prefix,
                                const std::vector<TensorSpec>& specs) {
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    tensors.push_back(read_pb(folder / (prefix + std::to_string(i) + ".pb")));
    if (specs[i].dtype == DType::bf16) tensors.back().dtype = DType::bf16;
  }
  return tensors;
}

// Within a relative 1e-3, as the corpus asks, or 1e-5 of the largest value, for sums that cancel;
// NaN where NaN is stored.
bool is_like(const Tensor& stored, const Tensor& output) {
  if (stored.shape != output.shape || stored.dtype != output.dtype) return false;
  const auto expected = to_f64(stored);
  const auto found = to_f64(output);
  double largest = 1;
  for (const double value : expected)
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  const auto agree = [&](double e, double f) {
    if (!std::isfinite(e)) return e == f || (std::isnan(e) && std::isnan(f));
    return std::abs(e - f) <= 1e-5 * largest + 1e-3 * std::abs(e);
  };
  return std::ranges::equal(expected, found, agree);
}

// Whether the tensor is one of an If's subgraphs, of which a run takes one.
bool is_conditional(const Model& model, const std::string& label) {
  const std::vector<Subgraph> places = all_subgraphs(model.graph());
  for (const Subgraph& place : places) {
    bool is_inside = false;
    for (const Subgraph* each = &place; each->owner;
         each = &places[static_cast<std::size_t>(each->outer)])
      is_inside = is_inside || each->owner->op_type() == "If";
    if (!is_inside) continue;
    for (const auto& node : place.graph->node())
      for (const std::string& output : node.output())
        if (label == output || label.ends_with("/" + output)) return true;
  }
  return false;
}

bool is_random(const Model& model) {
  for (const Subgraph& subgraph : all_subgraphs(model.graph()))
    for (const auto& node : subgraph.graph->node())
      if (node.op_type() == "Bernoulli" || node.op_type().starts_with("Random")) return true;
  return false;
}

// Where ONNX Runtime itself differs from the corpus, with probes or without.
bool is_known_to_differ(const std::string& name) {
  return name.starts_with("test_training_dropout") ||  // another random generator
         name == "test_cast_FLOAT_to_BFLOAT16" ||      // rounds to nearest, the corpus truncates
         name.starts_with("test_castlike_FLOAT_to_BFLOAT16") ||
         (name.starts_with("test_cast_FLOAT") && name.ends_with("INT4")) ||  // wraps, that clips
         (name.starts_with("test_qlinearmatmul_") && name.find("_int8_") != name.npos) ||
         name == "test_averagepool_3d_dilations_large_count_include_pad_is_1_ceil_mode_is_True" ||
         name == "test_maxunpool_export_with_output_shape" ||
         name == "test_resize_downsample_scales_cubic_align_corners" ||
         name == "test_resize_downsample_scales_linear_align_corners";
}

void compare_with_stored(const fs::path& path, const std::vector<Tensor>& outputs,
                         const std::vector<TensorSpec>& specs, Sweep& sweep) {
  const auto stored = read_stored(path.parent_path() / "test_data_set_0", "output_", specs);
  const std::string name = path.parent_path().filename().string();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    ++sweep.outputs;
    if (!is_like(stored[i], outputs[i]) && !is_known_to_differ(name))
      sweep.failed.push_back(name + ": unlike the stored output " + std::to_string(i));
  }
}

void run_one(const fs::path& path, Sweep& sweep) {
  const std::string name = path.parent_path().filename().string();
  const Model model = Model::load(path);
  if (const auto others = model.other_inputs(); !others.empty()) {
    sweep.cannot_feed.push_back(name + ": " + others[0].type);
    return;
  }
  std::vector<Tensor> inputs;
  std::vector<Tensor> expected;
  try {
    OrtRunner bare(model.clone(), {.optimization = Optimization::disabled, .threads = 1});
    inputs = read_stored(path.parent_path() / "test_data_set_0", "input_", bare.inputs());
    expected = bare.run(inputs);
    if (!is_random(model) && bare.unwatched().empty())
      compare_with_stored(path, expected, bare.outputs(), sweep);
  } catch (const std::exception& error) {
    sweep.cannot_run.push_back(name + ": " + error.what());
    return;
  }
  ++sweep.models;
  try {
    OrtRunner probed(model.clone(), {.watch = Watch::all(), .threads = 1});
    std::set<std::string> seen;
    const auto outputs =
        probed.run(inputs, [&](const TensorView& tensor) { seen.emplace(tensor.name); });
    sweep.tensors += seen.size();
    if (outputs != expected && !is_random(model))
      sweep.failed.push_back(path.string() + ": outputs differ");
    for (const auto& tensor : probed.watched())
      if (!seen.contains(tensor.name) && !is_conditional(model, tensor.name))
        sweep.failed.push_back(path.string() + ": not seen: " + tensor.name);
  } catch (const std::exception& error) {
    sweep.failed.push_back(path.string() + ": " + error.what());
  }
}

void print(const char* title, const std::vector<std::string>& names) {
  std::printf("%zu %s\n", names.size(), title);
  for (const auto& name : names) std::printf("  %s\n", name.c_str());
}

TEST(OrtSweep, every_model_gives_the_stored_outputs_and_the_same_with_probes_on_every_tensor) {
  if (!fs::exists(corpus)) GTEST_SKIP() << "libonnx-testdata is not installed";
  Sweep sweep;
  testing::internal::CaptureStderr();  // a thousand warnings about old operator sets
  for (const auto& path : all_models()) run_one(path, sweep);
  testing::internal::GetCapturedStderr();
  std::printf("%d models, %d tensors seen, %d outputs compared\n", sweep.models, sweep.tensors,
              sweep.outputs);
  print("models whose inputs are no tensors", sweep.cannot_feed);
  print("models that ONNX Runtime cannot run", sweep.cannot_run);
  EXPECT_THAT(sweep.failed, testing::IsEmpty());
  EXPECT_GE(sweep.models, 950) << "of those that Debian ships, too few were run";
}

}  // namespace
}  // namespace vernier
