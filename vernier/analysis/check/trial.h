#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vernier/analysis/check/graphs.h"
#include "vernier/runtime/runner.h"

namespace vernier {

// What came of a run that was allowed to fail.
struct Trial {
  std::optional<std::vector<Tensor>> outputs;
  std::string error;  // why there are none, in ONNX Runtime's words
};
Trial try_run(Runner& runner, std::span<const Tensor> inputs);

// The message without the operation and the model's name in front.
std::string bare_message(const std::string& message);

// The node that a message of ONNX Runtime names; empty if it names none.
std::string named_node(const std::string& message);

// A node by its name, in the main graph or a subgraph.
struct FoundNode {
  const Body* subgraph = nullptr;
  const vernier_onnx::NodeProto* node = nullptr;
};
std::optional<FoundNode> find_node(const Graphs& graphs, const std::string& name);

// The node that a message names; one without a name if it is the only one of its operator.
std::optional<FoundNode> find_failed_node(const Graphs& graphs, const std::string& message);

// The node that a message names, else the model.
Subject subject_of_error(const Graphs& graphs, const std::string& message);

// A dynamic axis: every place where the inputs have the same symbol. Unnamed ones go together when
// they are at the same position of their inputs.
struct DynamicAxis {
  struct Place {
    std::size_t input = 0;
    std::size_t axis = 0;
  };
  std::string name;  // its symbol, or "axis 1"
  bool named = true;
  bool is_batch = false;  // it is axis 0 of some input
  std::vector<Place> places;
};
std::vector<DynamicAxis> dynamic_axes(std::span<const TensorSpec> inputs);

// The shape of every input by name, its dynamic axes having these sizes (in the order of `axes`).
std::map<std::string, Shape> shapes_with(std::span<const TensorSpec> inputs,
                                         std::span<const DynamicAxis> axes,
                                         std::span<const std::int64_t> sizes);

}  // namespace vernier
