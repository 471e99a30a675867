#include "vernier/runtime/switchboard.h"

#include <fmt/format.h>
#include <onnxruntime_cxx_api.h>
#include <vernier_onnx.pb.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "vernier/activity.h"
#include "vernier/error.h"
#include "vernier/model/graph.h"
#include "vernier/model/split.h"
#include "vernier/runtime/custom_op.h"
#include "vernier/runtime/exact.h"
#include "vernier/runtime/execution_order.h"
#include "vernier/runtime/ort_session.h"
#include "vernier/runtime/ort_values.h"
#include "vernier/runtime/switch_kernel.h"
#include "vernier/tensor/mapped_file.h"

namespace vernier {
namespace {

// The number of parts that a model is cut into. More parts cost more session runs; fewer parts
// recompute more nodes before the first changed switch.
constexpr int most_parts = 12;

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

// One part of the model, with its own session.
struct BoardPart {
  Ort::Session session{nullptr};
  std::vector<std::string> inputs, outputs;
  std::vector<std::size_t> switches;  // switches that the part depends on
};

// The switches that nodes of the model and its subgraphs depend on.
std::vector<std::size_t> switches_of(const Model& model) {
  std::set<std::size_t> found;
  for (const Subgraph& place : all_subgraphs(model.graph()))
    for (const auto& node : place.graph->node())
      if (node.domain() == switch_domain)
        for (const std::int64_t index : attribute_ints(node, switch_attribute))
          found.insert(static_cast<std::size_t>(index));
  return {found.begin(), found.end()};
}

std::vector<const char*> pointers(const std::vector<std::string>& names) {
  std::vector<const char*> result;
  for (const std::string& name : names) result.push_back(name.c_str());
  return result;
}

}  // namespace

struct Switchboard::State {
  std::string model;
  std::vector<Switch> switches;
  std::vector<TensorSpec> inputs, outputs;
  std::vector<std::shared_ptr<const MappedFile>> files;  // hold external weights
  SwitchOp op;
  std::vector<BoardPart> parts;  // declared after `op`, which must outlive them

  void add_part(const Model& part, const OrtOptions& options, Optimization level) {
    Ort::SessionOptions session = session_options(options, level);
    session.Add(op.domain());
    BoardPart& added = parts.emplace_back();
    added.session = create_session(part, session);
    for (const TensorSpec& input : part.inputs()) added.inputs.push_back(input.name);
    for (const auto& output : part.graph().output()) added.outputs.push_back(output.name());
    added.switches = switches_of(part);
  }

  // Sets `outputs` to those of `names` that are numeric tensors, as the sessions describe them.
  void find_outputs(const std::vector<std::string>& names) {
    std::map<std::string, TensorSpec> specs;
    for (const BoardPart& part : parts)
      for (TensorSpec& spec : session_outputs(part.session).tensors)
        specs.emplace(spec.name, std::move(spec));
    for (const std::string& name : names)
      if (const auto found = specs.find(name); found != specs.end())
        outputs.push_back(found->second);
  }
};

Switchboard::Switchboard(SwitchedModel switched, const OrtOptions& options)
    : state_(std::make_unique<State>()) {
  ort_environment();  // must exist before any other ONNX Runtime object
  State& state = *state_;
  Model& model = switched.model;
  state.model = model.name();
  state.inputs = model.inputs();
  state.files = open_external_files(model);
  state.switches = std::move(switched.switches);
  const Optimization level = options.optimization.value_or(Optimization::disabled);
  if (options.exact) make_exact(model);
  if (level == Optimization::disabled) compute_constants_late(model);
  register_domain_once<SwitchOp>();
  std::vector<std::string> outputs;
  for (const auto& output : model.graph().output()) outputs.push_back(output.name());
  for (const Model& part : split_model(std::move(model), most_parts))
    state.add_part(part, options, level);
  state.find_outputs(outputs);
}

Switchboard::~Switchboard() = default;
Switchboard::Switchboard(Switchboard&&) noexcept = default;

const std::vector<Switch>& Switchboard::switches() const { return state_->switches; }
const std::vector<TensorSpec>& Switchboard::inputs() const { return state_->inputs; }
const std::vector<TensorSpec>& Switchboard::outputs() const { return state_->outputs; }

SwitchSettings Switchboard::all(const SwitchSetting& setting) const {
  return SwitchSettings(state_->switches.size(), setting);
}

std::vector<Tensor> Switchboard::run(std::span<const Tensor> inputs, const SwitchSettings& settings,
                                     const Observer& observer) {
  return SwitchedRuns(*this, inputs).run(settings, observer);
}

std::vector<std::size_t> Switchboard::order_of_runs(
    std::span<const SwitchSettings> settings) const {
  const auto comes_first = [&](std::size_t first, std::size_t second) {
    for (const BoardPart& part : state_->parts)
      for (const std::size_t i : part.switches) {
        const SwitchSetting &a = settings[first][i], &b = settings[second][i];
        if (a != b) return std::pair(a.state, a.simulated) < std::pair(b.state, b.simulated);
      }
    return false;
  };
  std::vector<std::size_t> order(settings.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, comes_first);
  return order;
}

struct SwitchedRuns::State {
  explicit State(Switchboard::State& of_board) : board(of_board) {}

  Switchboard::State& board;
  std::map<std::string, Ort::Value> values;  // inputs and the latest outputs of the parts
  SwitchSettings settings;                   // of the last run; empty if none has succeeded

  // Index of the first part whose switches differ from the last run; the number of parts if none
  // does.
  std::size_t first_changed(const SwitchSettings& now) const {
    if (settings.empty()) return 0;
    const auto is_changed = [&](const BoardPart& part) {
      return std::ranges::any_of(part.switches,
                                 [&](std::size_t i) { return now[i] != settings[i]; });
    };
    return static_cast<std::size_t>(std::ranges::find_if(board.parts, is_changed) -
                                    board.parts.begin());
  }

  void run(BoardPart& part) {
    std::vector<const OrtValue*> feeds;
    for (const std::string& name : part.inputs) feeds.push_back(values.at(name));
    std::vector<OrtValue*> found(part.outputs.size());
    Ort::ThrowOnError(Ort::GetApi().Run(part.session, nullptr, pointers(part.inputs).data(),
                                        feeds.data(), feeds.size(), pointers(part.outputs).data(),
                                        found.size(), found.data()));
    for (std::size_t i = 0; i < found.size(); ++i)
      values.insert_or_assign(part.outputs[i], Ort::Value(found[i]));
  }
};

SwitchedRuns::SwitchedRuns(Switchboard& board, std::span<const Tensor> inputs)
    : state_(std::make_unique<State>(*board.state_)) {
  const auto& specs = board.inputs();
  if (inputs.size() != specs.size())
    throw Error(fmt::format("[switch] {}: has {} inputs, {} were given", board.state_->model,
                            specs.size(), inputs.size()));
  for (std::size_t i = 0; i < specs.size(); ++i)
    state_->values.emplace(specs[i].name, to_ort(inputs[i]));
}

SwitchedRuns::~SwitchedRuns() = default;

std::vector<Tensor> SwitchedRuns::run(const SwitchSettings& settings, const Observer& observer) {
  Switchboard::State& board = state_->board;
  require_fitting(board.switches, settings);
  const std::size_t first = state_->first_changed(settings);
  state_->settings.clear();  // a failed run leaves no values to reuse
  SwitchRun run{
      .settings = settings, .switches = board.switches, .observer = observer ? &observer : nullptr};
  const ThreadRun switching(run);
  const Activity running(ForeignCode::onnxruntime, ForeignWork::running, board.model);
  try {
    for (std::size_t i = first; i < board.parts.size(); ++i) state_->run(board.parts[i]);
  } catch (const Ort::Exception& error) {
    if (run.failure) std::rethrow_exception(run.failure);
    throw ort_error(board.model, error.what());
  }
  for (const auto& file : board.files) file->require_unchanged();
  state_->settings = settings;
  std::vector<Tensor> outputs;
  for (const TensorSpec& output : board.outputs)
    outputs.push_back(from_ort(output.name, state_->values.at(output.name)));
  return outputs;
}

}  // namespace vernier
