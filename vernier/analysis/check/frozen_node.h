#pragma once

#include <string>

#include "vernier/analysis/check/runs.h"

namespace vernier {

// The node that keeps an axis at the size it was traced with.
struct FrozenNode {
  Subject subject;
  std::string reason;  // ", in Reshape '/Reshape' whose shape is the constant [1,16]"; may be empty
  std::string message;  // ONNX Runtime's
};

// From the message of a run that failed. `size` is the one that works.
FrozenNode find_frozen_node(const Graphs& graphs, std::span<const Tensor> inputs,
                            const std::string& error, std::int64_t size, const OrtOptions& options);

// From an output that does not follow its input.
FrozenNode find_frozen_node_before(const Graphs& graphs, const std::string& output,
                                   std::int64_t size);

}  // namespace vernier
