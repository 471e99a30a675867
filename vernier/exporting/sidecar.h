#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "vernier/tensor/tensor.h"

namespace vernier {

// What a .json file beside a model says of it: model.json for model.pt or model.onnx. The exporter
// writes it; one written by hand needs no more than the names:
//   {"inputs": [{"name": "x", "dtype": "int64", "shape": ["batch", 16]}], "outputs": [{"name":
//   "y"}]}
// Other keys are left to those who know them. A missing shape is unknown, a missing dtype float32.
struct SidecarReference {
  std::string source;   // what a host runs
  std::string weights;  // a state dict; empty: the source's own
  std::int64_t seed = 42;
  std::string task = {};  // that the model was loaded for
  bool operator==(const SidecarReference&) const = default;
};

// Which module a tensor of the exported graph comes from, and which line of code.
struct SidecarTensor {
  std::string name;
  std::string module;
  std::string source;
  bool operator==(const SidecarTensor&) const = default;
};

struct Sidecar {
  std::vector<TensorSpec> inputs;
  std::vector<TensorSpec> outputs;
  std::string task;
  SidecarReference reference = {};          // of an export without a TorchScript file
  std::vector<SidecarTensor> tensors = {};  // of a graph whose metadata an optimiser may drop
  bool operator==(const Sidecar&) const = default;
};

// The sidecar of the model at `model`; none if there is no such file, or if it is an object without
// "inputs" and "outputs", which is somebody else's. Throws Error for what is not JSON, or wrong.
std::optional<Sidecar> read_sidecar(const std::filesystem::path& model);

// What the export of the model said of its tensors: in the model's own sidecar, or in model.json
// beside it, as of a graph that was optimised after the export. None if nothing is said.
std::vector<SidecarTensor> exported_tensors(const std::filesystem::path& model);

}  // namespace vernier
