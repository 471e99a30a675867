#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/model/insert_switches.h"

namespace vernier_onnx {
class ModelProto;
class NodeProto;
}  // namespace vernier_onnx

namespace vernier {

enum class SwitchRole { activation = 0, weight = 1, selector = 2 };
SwitchRole role_of(Switch::Kind kind);

// What a node of a switch stands for.
struct SwitchPlace {
  std::size_t index = 0;
  SwitchRole role = SwitchRole::activation;
  std::optional<RealRange> folded = {};
};

// A node that passes `real` on, or puts it on a simulated quantizer.
vernier_onnx::NodeProto switch_node(const SwitchPlace& place, const std::string& real,
                                    const std::string& output);
// The same, or passes `quantized` on, of the type `dtype`.
vernier_onnx::NodeProto choice_node(const SwitchPlace& place, const std::string& real,
                                    const std::string& quantized, const std::string& output,
                                    DType dtype = DType::f32);
// A node that passes `quantized` on where all of the switches are as in the file, else `real`. With
// no switches, which a weight without a float counterpart leaves, it is an Identity.
vernier_onnx::NodeProto selector_node(const std::vector<std::size_t>& switches,
                                      const std::string& real, const std::string& quantized,
                                      const std::string& output, DType dtype = DType::f32);

void import_switch_domain(vernier_onnx::ModelProto& model);

}  // namespace vernier
