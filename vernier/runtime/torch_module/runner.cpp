#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/script.h>

#include "vernier/activity.h"
#include "vernier/error.h"
#include "vernier/runtime/torch_module/instrument.h"
#include "vernier/runtime/torch_module/load.h"
#include "vernier/runtime/torch_module/observe.h"
#include "vernier/runtime/torch_module/open.h"
#include "vernier/runtime/torch_module/precision.h"
#include "vernier/runtime/torch_module/signature.h"
#include "vernier/runtime/torch_module/state.h"
#include "vernier/runtime/torch_module/training_mode.h"
#include "vernier/runtime/torch_module/values.h"

namespace vernier {
namespace {

// For its lifetime, tensors that the model creates without a dtype get `precision`.
class DefaultDtype {
 public:
  explicit DefaultDtype(DType precision) : before_(c10::get_default_dtype()) {
    const auto type = precision == DType::f64 ? at::kDouble : at::kFloat;
    c10::set_default_dtype(c10::scalarTypeToTypeMeta(type));
  }
  ~DefaultDtype() { c10::set_default_dtype(before_); }

 private:
  caffe2::TypeMeta before_;
};

InstrumentedGraph prepare(torch::jit::Module& module, const TorchOptions& options) {
  set_precision(module, options.precision);
  InstrumentedGraph instrumented = instrument(module, options.watch_leaves);
  set_precision(*instrumented.graph, options.precision);
  return instrumented;
}

[[noreturn]] void throw_wrong_count(const std::string& subject, std::string_view what,
                                    std::size_t found, std::size_t named) {
  throw Error(fmt::format(
      "[torch] {}: has {} {}, but {} are named; correct or remove the .json file beside it",
      subject, found, what, named));
}

// `known` if not empty, else `found`. Throws Error if both are known and their counts differ.
std::vector<TensorSpec> chosen(const std::vector<TensorSpec>& known, std::vector<TensorSpec> found,
                               std::string_view what, const std::string& subject) {
  if (known.empty()) return found;
  const bool countable = !found.empty();  // a list that is built at run time has no known outputs
  if (countable && known.size() != found.size())
    throw_wrong_count(subject, what, found.size(), known.size());
  return known;
}

std::vector<TensorSpec> output_specs(const torch::jit::Graph& graph, DType precision) {
  std::vector<TensorSpec> specs;
  for (std::string& name : output_names(graph))
    specs.push_back({.name = std::move(name), .dtype = precision, .ranked = false});
  return specs;
}

bool is_positional(const TensorSpec& output) {
  return output.name.starts_with("output") &&
         output.name.find_first_not_of("_0123456789", 6) == std::string::npos;
}

class ScriptRunner final : public Runner {
 public:
  explicit ScriptRunner(const TorchOptions& options)
      : options_(options),
        module_(load_torchscript(options.path)),
        inputs_(chosen(options.inputs, input_specs(schema(), subject()), "inputs", subject())),
        instrumented_(prepare(module_, options)),
        outputs_(chosen(options.outputs, output_specs(*instrumented_.graph, options.precision),
                        "outputs", subject())),
        state_(module_, *instrumented_.graph),
        executor_(instrumented_.graph, "forward", torch::jit::ExecutorExecutionMode::SIMPLE) {
    if (const int count = training_mode_operators(*instrumented_.graph))
      warnings_.push_back(fmt::format(
          "{} operators of {} run in training mode; call model.eval() before tracing it", count,
          subject()));
  }

  const std::vector<TensorSpec>& inputs() const override { return inputs_; }
  const std::vector<TensorSpec>& outputs() const override { return outputs_; }
  std::vector<WatchedTensor> watched() const override { return instrumented_.watched; }
  std::vector<UnwatchedTensor> unwatched() const override { return instrumented_.unwatched; }
  std::vector<std::string> warnings() const override { return warnings_; }
  bool outputs_are_positional() const override {
    return std::ranges::any_of(outputs_, is_positional);
  }

  std::vector<Tensor> run(std::span<const Tensor> inputs, const Observer& observer) override {
    if (inputs.size() != inputs_.size())
      throw Error(fmt::format("[torch] {}: takes {} inputs, given {}", subject(), inputs_.size(),
                              inputs.size()));
    Run run{observer, instrumented_.leaf_modules, instrumented_.names, "", nullptr};
    std::vector<Tensor> outputs = named_outputs(execute(inputs, run));
    check_precision(outputs);
    return renamed(std::move(outputs));
  }

  void visit_parameters(const TensorVisitor& visit) const override {
    for (const auto& [name, tensor] : module_.named_parameters()) with_view(tensor, name, visit);
    for (const auto& [name, tensor] : module_.named_buffers()) with_view(tensor, name, visit);
  }

 private:
  std::string subject() const { return options_.path.string(); }

  const c10::FunctionSchema& schema() const {
    return module_.get_method("forward").function().getSchema();
  }

  c10::IValue execute(std::span<const Tensor> inputs, Run& run) {
    const Activity running(ForeignCode::torch, ForeignWork::running, subject());
    const c10::InferenceMode no_gradients;
    const torch::jit::GraphOptimizerEnabledGuard unoptimized(false);
    const DefaultDtype default_dtype(options_.precision);
    if (options_.threads > 0) at::set_num_threads(options_.threads);
    try {
      state_.restore();
      torch::jit::Stack stack{module_._ivalue()};
      for (c10::IValue& argument : arguments(schema(), inputs, options_.precision))
        stack.push_back(std::move(argument));
      stack.push_back(to_value(run));
      executor_.run(stack);
      return stack.at(0);
    } catch (const Error&) {
      throw;
    } catch (const std::exception& error) {
      if (run.thrown_by_observer) std::rethrow_exception(run.thrown_by_observer);
      const std::string place = run.last_leaf.empty() ? "" : " (after '" + run.last_leaf + "')";
      throw Error(fmt::format("[torch] {}: {}{}", subject(), what_failed(error), place));
    }
  }

  std::vector<Tensor> renamed(std::vector<Tensor> outputs) const {
    const auto& names = options_.outputs;
    if (names.empty()) return outputs;
    if (names.size() != outputs.size())
      throw_wrong_count(subject(), "outputs", outputs.size(), names.size());
    for (std::size_t i = 0; i < outputs.size(); ++i) outputs[i].name = names[i].name;
    return outputs;
  }

  void check_precision(const std::vector<Tensor>& outputs) const {
    if (options_.precision != DType::f64) return;
    for (const Tensor& output : outputs)
      if (is_float(output.dtype) && output.dtype != DType::f64)
        throw Error(
            fmt::format("[torch] {}: output '{}' is {} though run in float64: the model casts "
                        "to a dtype that it chooses while running; use float32",
                        subject(), output.name, dtype_name(output.dtype)));
  }

  TorchOptions options_;
  torch::jit::Module module_;
  std::vector<TensorSpec> inputs_;
  InstrumentedGraph instrumented_;
  std::vector<TensorSpec> outputs_;
  ModuleState state_;
  torch::jit::GraphExecutor executor_;
  std::vector<std::string> warnings_;
};

}  // namespace
}  // namespace vernier

extern "C" const char* vernier_torch_module_build() { return VERNIER_TORCH_MODULE_BUILD; }

extern "C" vernier::Runner* vernier_open_torch_module(const vernier::TorchOptions& options) {
  return new vernier::ScriptRunner(options);
}
