#include "vernier/runtime/ort_runner.h"

#include <fmt/format.h>
#include <fnmatch.h>
#include <onnxruntime_cxx_api.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <unordered_set>

#include "vernier/model/onnx_type.h"
#include "vernier/runtime/ort_session.h"
#include "vernier/runtime/probe_kernel.h"

namespace vernier {
namespace {

std::function<bool(const std::string&)> wanted(const Watch& watch) {
  if (watch.what == Watch::What::all) return [](const std::string&) { return true; };
  if (watch.what == Watch::What::glob)
    return [pattern = watch.names.at(0)](const std::string& name) {
      return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
    };
  return [names = std::unordered_set<std::string>(watch.names.begin(), watch.names.end())](
             const std::string& name) { return names.contains(name); };
}

void require_known(const Model& model, const Watch& watch) {
  if (watch.what != Watch::What::names) return;
  const std::vector<std::string> known = tensor_names(model);
  const std::unordered_set<std::string> names(known.begin(), known.end());
  for (const auto& name : watch.names)
    if (!names.contains(name))
      throw Error(
          fmt::format("[onnxruntime] {}: no node writes a tensor '{}'; `vernier inspect "
                      "--tensors` lists them",
                      model.name(), name));
}

void require_tensors(const Model& model) {
  for (const auto& input : model.other_inputs())
    throw Error(fmt::format("[onnxruntime] {}: input '{}' is a {}; only tensors can be fed",
                            model.name(), input.name, input.type));
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
    throw Error(fmt::format("[onnxruntime] output '{}': elements of {} are no numbers", name,
                            onnx_type_name(info.GetElementType())));
  const Shape shape = info.GetShape();
  const auto bytes = static_cast<std::size_t>(byte_size(*dtype, element_count(shape)));
  const auto* data = static_cast<const std::byte*>(value.GetTensorRawData());
  return copy({name, *dtype, shape, {data, bytes}});
}

Ort::Session create_session(const Model& model, const Ort::SessionOptions& options) {
  const std::string bytes = model.serialize();
  try {
    return Ort::Session(ort_environment(), bytes.data(), bytes.size(), options);
  } catch (const Ort::Exception& error) {
    throw ort_error(model.name(), error.what());
  }
}

struct TemporaryFile {
  std::string path = (std::filesystem::temp_directory_path() / "vernier-XXXXXX").string();
  TemporaryFile() { close(mkstemp(path.data())); }
  ~TemporaryFile() { std::filesystem::remove(path); }
};

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
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
  require_known(model, options.watch);
  const bool probing = options.watch.intermediates();
  const auto level =
      options.optimization.value_or(probing ? Optimization::disabled : Optimization::all);
  State& state = *state_;
  state.model = model.name();
  state.inputs = model.inputs();
  state.outputs = model.outputs();
  state.skipped_outputs = model.other_outputs();
  state.watch = options.watch;
  if (probing && level != Optimization::disabled) model = optimize(model, level);
  if (probing) state.probes = insert_probes(model, wanted(options.watch));

  Ort::SessionOptions session;
  configure_session(session, options, probing ? Optimization::disabled : level, model);
  session.Add(state.op.domain());
  state.session = create_session(model, session);
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
  std::vector<const char*> input_names;
  std::vector<const char*> output_names;
  for (const Tensor& input : inputs) feeds.push_back(feed(input));
  for (const auto& input : state.inputs) input_names.push_back(input.name.c_str());
  for (const auto& output : state.outputs) output_names.push_back(output.name.c_str());

  state.sink = {observer ? &observer : nullptr, nullptr};
  std::vector<Ort::Value> values;
  try {
    values = state.session.Run(Ort::RunOptions{nullptr}, input_names.data(), feeds.data(),
                               feeds.size(), output_names.data(), output_names.size());
  } catch (const Ort::Exception& error) {
    if (state.sink.failure) std::rethrow_exception(state.sink.failure);
    throw ort_error(state.model, error.what());
  }
  std::vector<Tensor> outputs;
  for (std::size_t i = 0; i < values.size(); ++i)
    outputs.push_back(fetch(state.outputs[i].name, values[i]));
  if (observer && state.watch.what == Watch::What::outputs)
    for (const Tensor& output : outputs) observer(output);
  return outputs;
}

Model optimize(const Model& model, Optimization level) {
  const TemporaryFile file;
  Ort::SessionOptions session;
  configure_session(session, {}, level, model);
  session.SetOptimizedModelFilePath(file.path.c_str());
  create_session(model, session);
  const std::string bytes = read_file(file.path);
  return Model::parse(bytes, model.folder(), model.name());
}

}  // namespace vernier
