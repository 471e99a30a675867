#include "vernier/runtime/switchboard.h"

#include <fmt/format.h>
#include <onnxruntime_cxx_api.h>

#include "vernier/activity.h"
#include "vernier/error.h"
#include "vernier/runtime/exact.h"
#include "vernier/runtime/execution_order.h"
#include "vernier/runtime/ort_session.h"
#include "vernier/runtime/ort_values.h"
#include "vernier/runtime/switch_kernel.h"
#include "vernier/tensor/mapped_file.h"

namespace vernier {
namespace {

void register_switch_domain() {
  static const bool registered = [] {
    const SwitchOp op;
    register_domain(op.domain());
    return true;
  }();
  static_cast<void>(registered);
}

void require_fitting(const std::vector<Switch>& switches, const SwitchSettings& settings) {
  if (settings.size() != switches.size())
    throw Error(
        fmt::format("[switch] {} settings for {} switches", settings.size(), switches.size()));
  for (std::size_t i = 0; i < settings.size(); ++i) {
    if (settings[i].state == SwitchSetting::State::as_in_file && !switches[i].is_in_file)
      throw Error(
          fmt::format("[switch] '{}': the model has no quantizer there, only a simulated "
                      "one can be set",
                      switches[i].name));
    if (settings[i].state == SwitchSetting::State::simulate && !settings[i].simulated)
      throw Error(fmt::format("[switch] '{}': no quantizer to simulate", switches[i].name));
  }
}

}  // namespace

struct Switchboard::State {
  std::string model;
  std::vector<Switch> switches;
  std::vector<TensorSpec> inputs;
  SessionOutputs outputs;
  std::vector<std::shared_ptr<const MappedFile>> files;  // that hold weights
  SwitchOp op;
  Ort::Session session{nullptr};  // after the operators that it uses
};

Switchboard::Switchboard(SwitchedModel switched, const OrtOptions& options)
    : state_(std::make_unique<State>()) {
  ort_environment();  // before anything else of ONNX Runtime's
  State& state = *state_;
  Model& model = switched.model;
  state.model = model.name();
  state.inputs = model.inputs();
  state.files = open_external_files(model);
  state.switches = std::move(switched.switches);
  const Optimization level = options.optimization.value_or(Optimization::disabled);
  if (options.exact) make_weights_unsigned(model);
  if (level == Optimization::disabled) compute_constants_late(model);
  Ort::SessionOptions session = session_options(options, level);
  register_switch_domain();
  session.Add(state.op.domain());
  state.session = create_session(model, session);
  state.outputs = session_outputs(state.session);
}

Switchboard::~Switchboard() = default;
Switchboard::Switchboard(Switchboard&&) noexcept = default;

const std::vector<Switch>& Switchboard::switches() const { return state_->switches; }
const std::vector<TensorSpec>& Switchboard::inputs() const { return state_->inputs; }
const std::vector<TensorSpec>& Switchboard::outputs() const { return state_->outputs.tensors; }

SwitchSettings Switchboard::all(const SwitchSetting& setting) const {
  return SwitchSettings(state_->switches.size(), setting);
}

std::vector<Tensor> Switchboard::run(std::span<const Tensor> inputs, const SwitchSettings& settings,
                                     const Observer& observer) {
  State& state = *state_;
  require_fitting(state.switches, settings);
  if (inputs.size() != state.inputs.size())
    throw Error(fmt::format("[switch] {}: has {} inputs, {} were given", state.model,
                            state.inputs.size(), inputs.size()));
  std::vector<Ort::Value> feeds;
  for (const Tensor& input : inputs) feeds.push_back(to_ort(input));
  std::vector<const char*> input_names, output_names;
  for (const TensorSpec& input : state.inputs) input_names.push_back(input.name.c_str());
  for (const TensorSpec& output : state.outputs.tensors)
    output_names.push_back(output.name.c_str());
  for (const OtherValue& output : state.outputs.others) output_names.push_back(output.name.c_str());

  SwitchRun run{
      .settings = settings, .switches = state.switches, .observer = observer ? &observer : nullptr};
  const ThreadSwitches switching(run);
  const Activity running(ForeignCode::onnxruntime, ForeignWork::running, state.model);
  std::vector<Ort::Value> values;
  try {
    values = state.session.Run(Ort::RunOptions{nullptr}, input_names.data(), feeds.data(),
                               feeds.size(), output_names.data(), output_names.size());
  } catch (const Ort::Exception& error) {
    if (run.failure) std::rethrow_exception(run.failure);
    throw ort_error(state.model, error.what());
  }
  for (const auto& file : state.files) file->require_unchanged();
  std::vector<Tensor> outputs;
  for (std::size_t i = 0; i < state.outputs.tensors.size(); ++i)
    outputs.push_back(from_ort(state.outputs.tensors[i].name, values[i]));
  return outputs;
}

}  // namespace vernier
