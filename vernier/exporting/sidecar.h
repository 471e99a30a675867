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
  bool operator==(const SidecarReference&) const = default;
};

struct Sidecar {
  std::vector<TensorSpec> inputs;
  std::vector<TensorSpec> outputs;
  std::string task;
  SidecarReference reference = {};  // of an export without a TorchScript file
  bool operator==(const Sidecar&) const = default;
};

// The sidecar of the model at `model`; none if there is no such file, or if it is an object without
// "inputs" and "outputs", which is somebody else's. Throws Error for what is not JSON, or wrong.
std::optional<Sidecar> read_sidecar(const std::filesystem::path& model);

}  // namespace vernier
