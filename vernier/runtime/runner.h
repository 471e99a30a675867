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

// A tensor as it is produced.
struct ObservedTensor : TensorView {
  // The tensor's memory: what is written here is what the readers of the tensor get. Empty where
  // the runner cannot change it (any more).
  std::span<std::byte> writable = {};
  // The observed tensor until whose call the bytes stay where they are; empty: only this call.
  std::string_view stays_until = {};
};

// Called as each watched tensor is produced, in execution order; the view is valid only during the
// call, unless it says otherwise. May throw: the run stops and the exception reaches the caller of
// run().
using Observer = std::function<void(const ObservedTensor&)>;

using TensorVisitor = std::function<void(const TensorView&)>;

// What the observer is shown: a tensor, or what a leaf returns.
struct WatchedTensor {
  // Of a leaf: its dotted path; the second call of the same module gets "_1", and so on. A leaf
  // that returns several tensors is observed as "path.0", "path.1".
  std::string name;
  std::string type = {};                         // of a leaf: its module's, "Conv2d"
  std::map<std::string, double> constants = {};  // of a leaf: its operators' number arguments
  bool in_control_flow = false;  // runs any number of times; the name is that of its first run
  std::string module = {};       // of a leaf or operator: the path of the module that is called
  int call = 0;                  // which call of it this is
  std::string source = {};       // the line that calls it, "modeling.py:12", where that is known
  bool operator==(const WatchedTensor&) const = default;
};

// What was to be shown or returned and cannot be.
struct UnwatchedTensor {
  std::string name;
  std::string reason;
  std::string type = {};  // of a leaf
  bool operator==(const UnwatchedTensor&) const = default;
};

// Something that turns inputs into outputs: an ONNX session, a TorchScript module, a host, recorded
// tensors. Another framework is added by implementing the first three functions.
class Runner {
 public:
  virtual ~Runner() = default;

  virtual const std::vector<TensorSpec>& inputs() const = 0;
  virtual const std::vector<TensorSpec>& outputs() const = 0;

  // Runs one sample. `inputs` are in the order of inputs(). Returns the model's outputs in the
  // order of outputs(), and calls the observer, if any, for each tensor that the runner was made to
  // watch.
  virtual std::vector<Tensor> run(std::span<const Tensor> inputs,
                                  const Observer& observer = {}) = 0;

  // Says which sample the next run() is of; the one after the last run otherwise. Only what replays
  // recorded samples needs to know.
  virtual void seek(std::int64_t /*sample*/) {}

  // What the observer will be shown, in the order of the graph, as far as that is known before.
  virtual std::vector<WatchedTensor> watched() const { return {}; }
  // What the runner was made to watch or return and cannot show.
  virtual std::vector<UnwatchedTensor> unwatched() const { return {}; }
  // What makes the model doubtful, in a sentence each.
  virtual std::vector<std::string> warnings() const { return {}; }
  // What the model runs in, besides this program: names and versions.
  virtual std::vector<std::pair<std::string, std::string>> versions() const { return {}; }
  // Whether the names in outputs() only number them, so that outputs are paired by position.
  virtual bool outputs_are_positional() const { return false; }
  // Calls `visit` with each weight and buffer that the runner knows, named by its path.
  virtual void visit_parameters(const TensorVisitor& /*visit*/) const {}
  // The same without their values; of a runner in another process, far less than those.
  virtual std::vector<TensorSpec> parameters() const;
  // Calls `visit` with the parameters of these names.
  virtual void visit_parameters_named(std::span<const std::string> names,
                                      const TensorVisitor& visit) const;
};

}  // namespace vernier
