#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "vernier/tensor/tensor.h"

namespace vernier {

// The reference that a host runs for an export.
struct SidecarReference {
  std::string source;   // the source that a host runs
  std::string weights;  // a state dict; if empty, the source's own weights
  std::int64_t seed = 42;
  std::string task = {};  // task that the model was loaded for
  bool operator==(const SidecarReference&) const = default;
};

// The module and the line of code that a tensor of the exported graph comes from.
struct SidecarTensor {
  std::string name;
  std::string module;
  std::string source;
  bool operator==(const SidecarTensor&) const = default;
};

// The .json file next to a model: model.json for model.pt or model.onnx. The exporter writes it; a
// file written by hand needs only names:
//   {"inputs": [{"name": "x", "dtype": "int64", "shape": ["batch", 16]}], "outputs": [{"name":
//   "y"}]}
// Other keys are ignored. Without a shape, the shape is unknown; without a dtype, it is float32.
struct Sidecar {
  std::vector<TensorSpec> inputs;
  std::vector<TensorSpec> outputs;
  std::string task;
  SidecarReference reference = {};          // set if the export has no TorchScript file
  std::vector<SidecarTensor> tensors = {};  // kept here, as optimisers may drop the metadata
  bool operator==(const Sidecar&) const = default;
};

// Reads the sidecar of the model file `model`. nullopt if there is no such file, or if it has
// neither "inputs" nor "outputs" and so belongs to another program. Throws Error if it is not JSON
// or has wrong types.
std::optional<Sidecar> read_sidecar(const std::filesystem::path& model);

// The tensors listed in the model's sidecar, else in model.json in the same folder, which belongs
// to the export if the model was optimised afterwards. Empty if neither lists any.
std::vector<SidecarTensor> exported_tensors(const std::filesystem::path& model);

}  // namespace vernier
