#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <torch/csrc/jit/runtime/custom_operator.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/script.h>
#include <torch/version.h>

#include "vernier/error.h"
#include "vernier/runtime/torch_module/call_names.h"
#include "vernier/runtime/torch_module/instrument.h"
#include "vernier/runtime/torch_module/open.h"
#include "vernier/runtime/torch_module/values.h"

namespace vernier {
namespace {

// What one run carries through the graph to the observations in it.
struct Run : torch::CustomClassHolder {
  const Observer& observer;
  const std::vector<std::string>& leaf_modules;
  CallNames names;
  std::string last_leaf;
  std::exception_ptr stopped_by;

  Run(const Observer& watching, const std::vector<std::string>& modules, CallNames call_names)
      : observer(watching), leaf_modules(modules), names(std::move(call_names)) {}
};

void observe(Run& run, const c10::IValue& value, std::size_t leaf) {
  run.last_leaf = run.names.next(run.leaf_modules[leaf]);
  if (!run.observer) return;
  const auto join = [](const std::string& container, const std::string& key) {
    return container + "." + key;
  };
  try {
    for_each_tensor(value, run.last_leaf, join,
                    [&](const std::string& name, const at::Tensor& tensor) {
                      with_view(tensor, name, run.observer);
                    });
  } catch (...) {
    // The interpreter would turn it into an exception of its own.
    run.stopped_by = std::current_exception();
    throw;
  }
}

void observe_operator(torch::jit::Stack& stack) {
  const auto leaf = static_cast<std::size_t>(torch::jit::pop(stack).toInt());
  const c10::IValue value = torch::jit::pop(stack);
  const c10::IValue run = torch::jit::pop(stack);
  observe(static_cast<Run&>(*run.toCapsule()), value, leaf);
}

const torch::jit::RegisterOperators registration(
    {torch::jit::Operator("vernier::observe(Any run, Any value, int leaf) -> ()", observe_operator,
                          c10::AliasAnalysisKind::CONSERVATIVE)});

std::string first_line(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

// The interpreter's message is a traceback; what went wrong is its last line.
std::string what_failed(const std::exception& error) {
  const auto* libtorch = dynamic_cast<const c10::Error*>(&error);
  const std::string text = libtorch ? libtorch->what_without_backtrace() : error.what();
  const auto cause = text.find("RuntimeError: ");
  return first_line(cause == std::string::npos ? text : std::string_view(text).substr(cause));
}

torch::jit::Module load(const std::filesystem::path& path) {
  try {
    torch::jit::Module module = torch::jit::load(path.string(), at::kCPU);
    module.eval();
    return module;
  } catch (const std::exception& error) {
    throw Error(fmt::format("[torch] {}: libtorch " TORCH_VERSION
                            " cannot load it ({}); save TorchScript with "
                            "`torch.jit.trace(model, example).save(...)`, or record the tensors to "
                            "an .npz file and use that",
                            path.string(), what_failed(error)));
  }
}

class ScriptRunner final : public TorchRunner {
 public:
  explicit ScriptRunner(const TorchOptions& options)
      : options_(options), module_(load(options.path)), inputs_(input_specs()) {
    auto instrumented = instrument(module_, options.watch_leaves);
    leaves_ = std::move(instrumented.leaves);
    leaf_modules_ = std::move(instrumented.leaf_modules);
    for (const auto& [path, module] : module_.named_modules()) module_paths_.insert(path);
    executor_ = torch::jit::GraphExecutor(instrumented.graph, "forward",
                                          torch::jit::ExecutorExecutionMode::SIMPLE);
  }

  const std::vector<TensorSpec>& inputs() const override { return inputs_; }
  const std::vector<TensorSpec>& outputs() const override { return outputs_; }
  const std::vector<TorchLeaf>& leaves() const override { return leaves_; }
  bool has_output_names() const override { return false; }

  std::vector<Tensor> run(std::span<const Tensor> inputs, const Observer& observer) override {
    const auto run = c10::make_intrusive<Run>(observer, leaf_modules_, CallNames(module_paths_));
    torch::jit::Stack stack{module_._ivalue()};
    for (const Tensor& input : inputs) stack.emplace_back(to_torch(input, options_.precision));
    stack.push_back(c10::IValue::make_capsule(run));
    execute(stack, *run);
    return named_outputs(stack.at(0));
  }

  void visit_parameters(const Observer& visit) const override {
    for (const auto& [name, tensor] : module_.named_parameters()) with_view(tensor, name, visit);
    for (const auto& [name, tensor] : module_.named_buffers()) with_view(tensor, name, visit);
  }

 private:
  std::vector<TensorSpec> input_specs() const {
    std::vector<TensorSpec> specs;
    const auto& arguments = module_.get_method("forward").function().getSchema().arguments();
    for (std::size_t i = 1; i < arguments.size(); ++i)
      specs.push_back({.name = arguments[i].name()});
    return specs;
  }

  void execute(torch::jit::Stack& stack, Run& run) {
    const c10::InferenceMode no_gradients;
    const torch::jit::GraphOptimizerEnabledGuard unoptimized(false);
    if (options_.threads > 0) at::set_num_threads(options_.threads);
    try {
      executor_.run(stack);
    } catch (const std::exception& error) {
      if (run.stopped_by) std::rethrow_exception(run.stopped_by);
      throw Error(fmt::format("[torch] {}: {}", options_.path.string(), what_failed(error)));
    }
  }

  static std::vector<Tensor> named_outputs(const c10::IValue& value) {
    std::vector<Tensor> outputs;
    const auto join = [](const std::string& container, const std::string& key) {
      return container + "_" + key;
    };
    for_each_tensor(value, "output", join, [&](const std::string& name, const at::Tensor& tensor) {
      with_view(tensor, name, [&](const TensorView& view) { outputs.push_back(copy(view)); });
    });
    return outputs;
  }

  TorchOptions options_;
  torch::jit::Module module_;
  std::vector<TensorSpec> inputs_;
  std::vector<TensorSpec> outputs_;
  std::vector<TorchLeaf> leaves_;
  std::vector<std::string> leaf_modules_;
  std::set<std::string> module_paths_;
  torch::jit::GraphExecutor executor_;
};

}  // namespace
}  // namespace vernier

extern "C" vernier::TorchRunner* vernier_open_torch_module_1(const vernier::TorchOptions& options) {
  return new vernier::ScriptRunner(options);
}
