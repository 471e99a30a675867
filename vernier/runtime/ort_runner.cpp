#include "vernier/runtime/ort_runner.h"

#include <fmt/format.h>
#include <onnxruntime_cxx_api.h>

#include <algorithm>

#include "vernier/model/onnx_type.h"
#include "vernier/runtime/ort_session.h"
#include "vernier/runtime/probe_kernel.h"
#include "vernier/runtime/watch.h"

namespace vernier {
namespace {

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

Ort::Value feed(const Tensor& tensor) {
  const auto memory = Ort::MemoryInfo::CreateCpu(OrtDeviceAllocator, OrtMemTypeDefault);
  // ORT takes non-const memory, and does not write to inputs.
  return Ort::Value::CreateTensor(memory, const_cast<std::byte*>(tensor.bytes.data()),
                                  tensor.bytes.size(), tensor.shape.data(), tensor.shape.size(),
                                  ONNXTensorElementDataType(onnx_data_type(tensor.dtype)));
}

Tensor fetch(const std::string& name, const Ort::Value& value) {
  const auto info = value.GetTensorTypeAndShapeInfo();
  const auto dtype = dtype_of_onnx(info.GetElementType());
  if (!dtype)
    throw Error(fmt::format("[onnxruntime] output '{}': {} elements are no numbers", name,
                            onnx_type_name(info.GetElementType())));
  const Shape shape = info.GetShape();
  const auto bytes = static_cast<std::size_t>(byte_size(*dtype, element_count(shape)));
  const auto* data = static_cast<const std::byte*>(value.GetTensorRawData());
  return copy({name, *dtype, shape, {data, bytes}});
}

}  // namespace

struct OrtRunner::State {
  std::string model;
  std::vector<TensorSpec> inputs;
  std::vector<TensorSpec> outputs;
  std::vector<OtherValue> skipped_outputs;
  Watch watch;
  Probes probes;
  ProbeSink sink;
  ProbeOp op{sink};
  Ort::Session session{nullptr};  // after the operator that it uses
};

OrtRunner::OrtRunner(Model model, OrtOptions options) : state_(std::make_unique<State>()) {
  require_tensors(model);
  State& state = *state_;
  state.model = model.name();
  state.inputs = model.inputs();
  state.outputs = model.outputs();
  state.skipped_outputs = model.other_outputs();
  state.watch = options.watch;

  const bool probing = options.watch.intermediates();
  const auto level =
      options.optimization.value_or(probing ? Optimization::disabled : Optimization::all);
  if (probing) state.probes = vernier::watch(model, options, level);

  Ort::SessionOptions session;
  configure(session, options, probing ? Optimization::disabled : level);
  session.Add(state.op.domain());
  state.session = create_session(model, session);
  for (const auto& name : state.sink.strings) {
    std::erase(state.probes.watched, name);
    state.probes.unwatched.push_back({name, "strings, not numbers"});
  }
}

OrtRunner::~OrtRunner() = default;
OrtRunner::OrtRunner(OrtRunner&&) noexcept = default;

const std::vector<TensorSpec>& OrtRunner::inputs() const { return state_->inputs; }
const std::vector<TensorSpec>& OrtRunner::outputs() const { return state_->outputs; }
const Probes& OrtRunner::probes() const { return state_->probes; }
const std::vector<OtherValue>& OrtRunner::skipped_outputs() const {
  return state_->skipped_outputs;
}

std::vector<Tensor> OrtRunner::run(std::span<const Tensor> inputs, const Observer& observer) {
  State& state = *state_;
  if (inputs.size() != state.inputs.size())
    throw Error(fmt::format("[onnxruntime] {}: has {} inputs, {} were given", state.model,
                            state.inputs.size(), inputs.size()));
  std::vector<Ort::Value> feeds;
  for (const Tensor& input : inputs) feeds.push_back(feed(input));
  // ORT wants at least one output, also of a model that has only such as are skipped.
  std::vector<const char*> input_names, output_names;
  add_names(input_names, state.inputs);
  add_names(output_names, state.outputs);
  add_names(output_names, state.skipped_outputs);

  state.sink.observer = observer ? &observer : nullptr;
  state.sink.failure = nullptr;
  std::vector<Ort::Value> values;
  try {
    values = state.session.Run(Ort::RunOptions{nullptr}, input_names.data(), feeds.data(),
                               feeds.size(), output_names.data(), output_names.size());
  } catch (const Ort::Exception& error) {
    if (state.sink.failure) std::rethrow_exception(state.sink.failure);
    throw ort_error(state.model, error.what());
  }
  std::vector<Tensor> outputs;
  for (std::size_t i = 0; i < state.outputs.size(); ++i)
    outputs.push_back(fetch(state.outputs[i].name, values[i]));
  if (observer && state.watch.what == Watch::What::outputs)
    for (const Tensor& output : outputs) observer(output);
  return outputs;
}

}  // namespace vernier
