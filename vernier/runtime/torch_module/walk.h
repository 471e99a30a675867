#pragma once

#include <functional>

namespace torch::jit {
struct Graph;
struct Node;
}  // namespace torch::jit

namespace vernier {

// Visits every node, including those in subgraphs of If, Loop and forked tasks.
void for_each_node(torch::jit::Graph& graph, const std::function<void(torch::jit::Node*)>& visit);

}  // namespace vernier
