#pragma once

namespace torch::jit {
struct Graph;
}

namespace vernier {

// The number of operators that run in training mode regardless of the module's mode: dropouts and
// batch norms of a model that was traced before eval() was called.
int training_mode_operators(torch::jit::Graph& graph);

}  // namespace vernier
