#pragma once

#include <span>
#include <string>
#include <vector>

#include "vernier/tensor/tensor.h"

namespace c10 {
struct IValue;
struct FunctionSchema;
}  // namespace c10
namespace torch::jit {
struct Graph;
}

namespace vernier {

// The input tensors of forward: one per argument without a default value, several for a tuple; a
// number is a tensor of one element. Throws Error, naming `subject`, for an argument of another
// type.
std::vector<TensorSpec> input_specs(const c10::FunctionSchema& forward, const std::string& subject);

// The arguments of forward, made from tensors in the order of input_specs().
std::vector<c10::IValue> arguments(const c10::FunctionSchema& forward,
                                   std::span<const Tensor> inputs, DType precision);

// The names of the graph's output tensors that are known before a run: lists and dictionaries that
// are built at run time are left out.
std::vector<std::string> output_names(const torch::jit::Graph& graph);

// The tensors inside the value, in the order and with the names of output_names(): "output" for a
// tensor, "output_0" and so on for those of a tuple or list, the keys of a dictionary or named
// tuple.
std::vector<Tensor> named_outputs(const c10::IValue& value);

}  // namespace vernier
