#pragma once

#include <optional>
#include <string>
#include <vector>

#include "vernier/model/insert_switches.h"
#include "vernier/model/onnx.h"

namespace vernier {

enum class SwitchRole { activation = 0, weight = 1, selector = 2 };
SwitchRole role_of(Switch::Kind kind);

// The switch that a node implements.
struct SwitchPlace {
  std::size_t index = 0;
  SwitchRole role = SwitchRole::activation;
  std::optional<RealRange> folded = {};  // range of a Relu or Clip folded into the quantizer
};

// A node that passes `real` on, as it is or through a simulated quantizer.
NodeProto switch_node(const SwitchPlace& place, const std::string& real, const std::string& output);
// A node that passes `real` on, as switch_node() does, or `quantized`. Its output is of `dtype`.
NodeProto choice_node(const SwitchPlace& place, const std::string& real,
                      const std::string& quantized, const std::string& output,
                      DType dtype = DType::f32);
// A node that passes `quantized` on if all of the switches are as in the file, else `real`. Without
// switches (a weight without a float counterpart has none) it is an Identity of `quantized`.
NodeProto selector_node(const std::vector<std::size_t>& switches, const std::string& real,
                        const std::string& quantized, const std::string& output,
                        DType dtype = DType::f32);

void import_switch_domain(ModelProto& model);

}  // namespace vernier
