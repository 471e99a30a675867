#pragma once

namespace torch::jit {
struct Graph;
}

namespace vernier {

// How many operators of the graph run in training mode whatever the module's own mode is: the
// dropouts and batch norms of a model that was traced before eval() was called.
int training_mode_operators(torch::jit::Graph& graph);

}  // namespace vernier
