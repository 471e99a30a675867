#include "vernier/runtime/ort_runner.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <onnxruntime_cxx_api.h>

#include <algorithm>
#include <mutex>

#include "vernier/activity.h"
#include "vernier/model/onnx_type.h"
#include "vernier/runtime/custom_op.h"
#include "vernier/runtime/exact.h"
#include "vernier/runtime/executed_graph.h"
#include "vernier/runtime/execution_order.h"
#include "vernier/runtime/ort_session.h"
#include "vernier/runtime/ort_values.h"
#include "vernier/runtime/probe_kernel.h"
#include "vernier/runtime/probes.h"
#include "vernier/runtime/stopping.h"
#include "vernier/runtime/watch.h"
#include "vernier/tensor/mapped_file.h"

namespace vernier {
namespace {

void give_up(Probes& probes, const UnwatchedTensor& tensor) {
  std::erase(probes.watched, tensor.name);
  probes.unwatched.push_back(tensor);
}

// Not all types can be inferred from the graph. A probe that ONNX Runtime rejects, because its
// value is not a tensor, is removed, and the session is created again.
Ort::Session create_probed_session(Model& model, Ort::SessionOptions& options, Probes& probes) {
  while (true) {
    try {
      return create_session(model, options);
    } catch (const Error& error) {
      const auto refused = refused_probe(error.what());
      if (!refused) throw;
      remove_probe(model, refused->name);
      give_up(probes, *refused);
    }
  }
}

// A session of the executed graph with every node marked, on one thread; null if ONNX Runtime
// rejects the marked graph.
Ort::Session create_marked_session(const Model& model, OrtOptions options, Optimization level,
                                   const ProbeOp& op) {
  try {
    options.threads = 1;
    const bool another = !options.watch.intermediates() && is_cpu(options.provider) &&
                         (level != Optimization::disabled || runs_another_graph(model));
    Model marked = another ? executed_graph(model, options, level) : model.clone();
    insert_marks(marked);
    Ort::SessionOptions session = session_options(options, Optimization::disabled);
    session.Add(op.domain());
    return create_session(marked, session);
  } catch (const Error&) {
    return Ort::Session{nullptr};
  }
}

void require_tensors(const Model& model) {
  for (const auto& input : model.other_inputs())
    throw Error(
        fmt::format("[onnxruntime] {}: input '{}' has type {}; only tensors of numbers can "
                    "be fed",
                    model.name(), input.name, input.type));
}

template <typename Value>
void add_names(std::vector<const char*>& names, const std::vector<Value>& values) {
  for (const Value& value : values) names.push_back(value.name.c_str());
}

// Suggests --shape options if the failure may come from a dynamic axis that was set to 1; empty if
// there is no such axis. The first axis, the batch, is only suggested if an index was out of
// bounds.
std::string shape_hint(std::span<const TensorSpec> specs, std::span<const Tensor> inputs,
                       std::string_view message) {
  const bool is_index = message.find("out of data bounds") != std::string_view::npos;
  std::string hint;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const Shape& given = inputs[i].shape;
    Shape other = given;
    for (std::size_t axis = is_index ? 0 : 1; axis < std::min(given.size(), specs[i].shape.size());
         ++axis)
      if (specs[i].shape[axis].is_dynamic() && given[axis] == 1)
        other[axis] = given.size() == 4 ? 224 : 16;
    if (other != given) hint += fmt::format(" --shape {}={}", specs[i].name, fmt::join(other, "x"));
  }
  return hint.empty() ? "" : "; if an axis of 1 is too short, pass its size, as in" + hint;
}

}  // namespace

struct OrtRunner::State {
  std::shared_ptr<RunGroup> runs = run_group();
  std::string model;
  std::string provider;
  std::vector<TensorSpec> inputs;
  SessionOutputs outputs;
  std::vector<std::shared_ptr<const MappedFile>> files;  // hold external weights
  Watch watch;
  Probes probes;
  ProbeOp op;
  Ort::Session session{nullptr};  // declared after `op`, which must outlive it
  // Used only with providers whose tensors are watched as graph outputs.
  std::vector<TensorSpec> exposed;       // watched tensors that are not outputs of the model
  std::unique_ptr<OrtRunner> unwatched;  // its outputs check the first watched run
  std::once_flag compared;

  void take_exposed();
  void show(const Observer& observer, std::span<const Tensor> tensors) const;
};

// Moves the exposed tensors from `outputs` to `exposed`; the model's own outputs come first.
void OrtRunner::State::take_exposed() {
  const std::size_t own = unwatched->outputs().size();
  exposed.assign(outputs.tensors.begin() + static_cast<std::ptrdiff_t>(own), outputs.tensors.end());
  outputs.tensors.resize(own);
  const std::size_t other = unwatched->state_->outputs.others.size();
  for (std::size_t i = other; i < outputs.others.size(); ++i)
    give_up(probes,
            {outputs.others[i].name, fmt::format("a {}, not a tensor", outputs.others[i].type)});
  outputs.others.resize(other);
}

// Shows the observer the watched ones of `tensors`, in graph order.
void OrtRunner::State::show(const Observer& observer, std::span<const Tensor> tensors) const {
  for (const std::string& name : probes.watched)
    observer({*std::ranges::find(tensors, name, &Tensor::name)});
}

OrtRunner::OrtRunner(Model model, const OrtOptions& options) : state_(std::make_unique<State>()) {
  ort_environment();  // must exist before any other ONNX Runtime object
  require_tensors(model);
  State& state = *state_;
  state.model = model.name();
  state.inputs = model.inputs();
  state.files = open_external_files(model);
  state.watch = options.watch;

  const bool exposing = options.watch.intermediates() && !is_cpu(options.provider);
  const bool probing = options.watch.intermediates() && !exposing;
  const bool as_written = options.exact && has_dequantized_operands(model);
  const auto level = as_written ? Optimization::disabled
                                : options.optimization.value_or(probing ? Optimization::disabled
                                                                        : Optimization::all);
  if (options.exact) make_exact(model);
  if (level == Optimization::disabled) compute_constants_late(model);
  Ort::SessionOptions session = session_options(options, probing ? Optimization::disabled : level);
  if (probing) state.probes = vernier::watch(model, options, level);
  if (exposing) {
    OrtOptions plain = options;
    plain.watch = {};
    state.provider = options.provider;
    state.unwatched = std::make_unique<OrtRunner>(model.clone(), plain);
    state.probes = expose_watched(model, options.watch);
  }
  if (probing || records_nodes()) {
    register_domain_once<ProbeOp>();
    session.Add(state.op.domain());
  }
  if (records_nodes()) state.session = create_marked_session(model, options, level, state.op);
  if (!state.session) state.session = create_probed_session(model, session, state.probes);
  state.outputs = session_outputs(state.session);
  for (const auto& tensor : state.op.unreadable()) give_up(state.probes, tensor);
  if (exposing) state.take_exposed();
}

OrtRunner::~OrtRunner() = default;
OrtRunner::OrtRunner(OrtRunner&&) noexcept = default;

const std::vector<TensorSpec>& OrtRunner::inputs() const { return state_->inputs; }
const std::vector<TensorSpec>& OrtRunner::outputs() const { return state_->outputs.tensors; }

std::vector<WatchedTensor> OrtRunner::watched() const {
  std::vector<WatchedTensor> tensors;
  for (const std::string& name : state_->probes.watched) tensors.push_back({name});
  if (state_->watch.what == Watch::What::outputs)
    for (const TensorSpec& output : outputs()) tensors.push_back({output.name});
  return tensors;
}

std::vector<UnwatchedTensor> OrtRunner::unwatched() const {
  std::vector<UnwatchedTensor> tensors = state_->probes.unwatched;
  for (const auto& [name, type] : state_->outputs.others)
    tensors.push_back({name, fmt::format("a {}, not a tensor", type)});
  return tensors;
}

std::vector<Tensor> OrtRunner::run(std::span<const Tensor> inputs, const Observer& observer) {
  State& state = *state_;
  if (inputs.size() != state.inputs.size())
    throw Error(fmt::format("[onnxruntime] {}: has {} inputs, {} were given", state.model,
                            state.inputs.size(), inputs.size()));
  std::vector<Ort::Value> feeds;
  for (const Tensor& input : inputs) feeds.push_back(to_ort(input));
  // Requests non-tensor outputs too: ORT needs at least one output, and a model may have no others.
  std::vector<const char*> input_names, output_names;
  add_names(input_names, state.inputs);
  add_names(output_names, state.outputs.tensors);
  if (observer) add_names(output_names, state.exposed);
  add_names(output_names, state.outputs.others);

  const Activity running(ForeignCode::onnxruntime, ForeignWork::running, state.model);
  ProbeRun probes{.observer = observer ? &observer : nullptr};
  const ThreadRun watching(probes);
  Ort::RunOptions run_options;
  const StoppableRun run(*state.runs, [&run_options] { run_options.SetTerminate(); });
  std::vector<Ort::Value> values;
  try {
    values = state.session.Run(run_options, input_names.data(), feeds.data(), feeds.size(),
                               output_names.data(), output_names.size());
  } catch (const Ort::Exception& error) {
    if (probes.failure) std::rethrow_exception(probes.failure);
    if (run.stopped()) throw Stopped(fmt::format("[onnxruntime] {}: interrupted", state.model));
    throw ort_error(state.model, error.what() + shape_hint(state.inputs, inputs, error.what()));
  }
  for (const auto& file : state.files) file->require_unchanged();
  std::vector<Tensor> outputs;
  for (std::size_t i = 0; i < state.outputs.tensors.size(); ++i)
    outputs.push_back(from_ort(state.outputs.tensors[i].name, values[i]));
  if (observer && state.watch.what == Watch::What::outputs)
    for (const Tensor& output : outputs) observer({output});
  if (observer && state.unwatched) {
    std::call_once(state.compared, [&] {
      require_unchanged(state.model, state.provider, state.unwatched->run(inputs), outputs);
    });
    std::vector<Tensor> tensors = outputs;
    for (std::size_t i = 0; i < state.exposed.size(); ++i)
      tensors.push_back(from_ort(state.exposed[i].name, values[outputs.size() + i]));
    state.show(observer, tensors);
  }
  return outputs;
}

}  // namespace vernier
