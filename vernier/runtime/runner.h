#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vernier/tensor/tensor.h"

namespace vernier {

// A watched tensor, as the observer is shown it.
struct ObservedTensor : TensorView {
  // The tensor's memory: the nodes that read the tensor see what the observer writes here. Empty if
  // the runner cannot change the tensor.
  std::span<std::byte> writable = {};
  // The bytes stay valid until the observer is called for the tensor of this name; empty if they
  // are valid only during this call.
  std::string_view stays_until = {};
};

// Called as each watched tensor is produced, in execution order; the view is valid only during the
// call, unless `stays_until` is set. May throw: the run stops and run() rethrows the exception.
using Observer = std::function<void(const ObservedTensor&)>;

using TensorVisitor = std::function<void(const TensorView&)>;

// A tensor that the observer is shown: a graph tensor, or the output of a leaf.
struct WatchedTensor {
  // The name of a leaf is its dotted path; the second call of the same module gets the suffix "_1",
  // and so on. A leaf that returns several tensors is observed as "path.0", "path.1".
  std::string name;
  std::string type = {};                         // of a leaf: the type of its module, "Conv2d"
  std::map<std::string, double> constants = {};  // of a leaf: numeric arguments of its operators
  // Of a leaf: its settings that are not numbers alone, as text: mode "bilinear", dilation "[2,2]".
  std::map<std::string, std::string> settings = {};
  bool in_control_flow = false;  // may run any number of times; `name` is that of the first
  std::string module = {};       // of a leaf or operator: path of the called module
  int call = 0;                  // index of this call of the module, from 0
  std::string source = {};       // the calling line, "modeling.py:12"; empty if unknown
  bool operator==(const WatchedTensor&) const = default;
};

// A tensor that should be shown or returned but cannot be.
struct UnwatchedTensor {
  std::string name;
  std::string reason;
  std::string type = {};  // of a leaf: the type of its module
  bool operator==(const UnwatchedTensor&) const = default;
};

// Turns inputs into outputs: an ONNX session, a TorchScript module, a host, or recorded tensors. To
// add a framework, implement the first three functions.
class Runner {
 public:
  virtual ~Runner() = default;

  virtual const std::vector<TensorSpec>& inputs() const = 0;
  virtual const std::vector<TensorSpec>& outputs() const = 0;

  // Runs one sample. `inputs` are in the order of inputs(). Returns the model's outputs in the
  // order of outputs(), and calls the observer, if any, for each watched tensor.
  virtual std::vector<Tensor> run(std::span<const Tensor> inputs,
                                  const Observer& observer = {}) = 0;

  // Sets the index of the sample that the next run() is for; without this call it is the one after
  // the last. Only runners that replay recorded samples use it.
  virtual void seek(std::int64_t /*sample*/) {}

  // The tensors that the observer will be shown, in graph order, as far as they are known before a
  // run.
  virtual std::vector<WatchedTensor> watched() const { return {}; }
  // The tensors that the runner was asked to watch or return but cannot.
  virtual std::vector<UnwatchedTensor> unwatched() const { return {}; }
  // Reasons to doubt results of this model, one sentence each.
  virtual std::vector<std::string> warnings() const { return {}; }
  // Names and versions of the software that the model runs in, other than this program.
  virtual std::vector<std::pair<std::string, std::string>> versions() const { return {}; }
  // Whether the names in outputs() are only numbers, so that outputs must be paired by position.
  virtual bool outputs_are_positional() const { return false; }
  // Calls `visit` for each weight and buffer that the runner can show, named by its path.
  virtual void visit_parameters(const TensorVisitor& /*visit*/) const {}
  // The weights and buffers without their values. For a runner in another process this avoids
  // transferring the values.
  virtual std::vector<TensorSpec> parameters() const;
  // Calls `visit` for the parameters with these names.
  virtual void visit_parameters_named(std::span<const std::string> names,
                                      const TensorVisitor& visit) const;
};

}  // namespace vernier
