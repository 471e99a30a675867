#include "vernier/runtime/switch_kernel.h"

#include <fmt/format.h>
#include <onnxruntime_cxx_api.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>

#include "vernier/error.h"
#include "vernier/model/onnx_type.h"
#include "vernier/model/switch_nodes.h"
#include "vernier/runtime/custom_op.h"
#include "vernier/runtime/ort_library.h"

namespace vernier {
namespace {

struct Op : OrtCustomOp {
  std::string_view name;
  bool has_choice = false;  // second input: the result of the file's own quantizer
  ONNXTensorElementDataType second = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
};

// The last simulated weight, kept while the quantizer stays the same.
struct SimulatedWeight {
  std::shared_ptr<const SimulatedQuantizer> quantizer;
  std::vector<float> values;
};

struct Kernel {
  std::vector<std::int64_t> switches;
  float clip_low = -INFINITY, clip_high = INFINITY;
  bool has_choice = false;
  SwitchRole role = SwitchRole::activation;
  std::mutex mutex;  // guards `last`
  SimulatedWeight last;
};

struct Source {
  TensorView view;
  Shape shape;
  int data_type = 0;
};

Source source_of(const Ort::ConstValue& value, std::string_view name) {
  const auto info = value.GetTensorTypeAndShapeInfo();
  Source source{.view = {}, .shape = info.GetShape(), .data_type = info.GetElementType()};
  const std::int64_t bits = element_count(source.shape) * onnx_bits(source.data_type);
  source.view = {name,
                 dtype_of_onnx(source.data_type).value_or(DType::f32),
                 {},
                 {static_cast<const std::byte*>(value.GetTensorRawData()),
                  static_cast<std::size_t>((bits + 7) / 8)}};
  return source;
}

std::span<float> floats(std::byte* memory, std::size_t count) {
  return {reinterpret_cast<float*>(memory), count};
}

void require_float(const Source& source, const Switch& what) {
  if (source.view.dtype == DType::f32) return;
  throw Error(fmt::format("[switch] '{}': a quantizer of {} cannot be simulated, only of float32",
                          what.name, dtype_name(source.view.dtype)));
}

void clip(const Kernel& kernel, std::span<float> values) {
  for (float& value : values) {
    value = value < kernel.clip_low ? kernel.clip_low : value;
    value = value > kernel.clip_high ? kernel.clip_high : value;
  }
}

bool clips(const Kernel& kernel) {
  return std::isfinite(kernel.clip_low) || std::isfinite(kernel.clip_high);
}

// Writes the float tensor as its readers would get it without the quantizer, clipped if needed.
void pass_on(const Kernel& kernel, const Source& source, const Switch& what, std::byte* target) {
  if (source.view.bytes.data() != target)
    std::memmove(target, source.view.bytes.data(), source.view.bytes.size());
  if (!clips(kernel)) return;
  require_float(source, what);
  clip(kernel, floats(target, source.view.bytes.size() / sizeof(float)));
}

// Writes the tensor as quantized and dequantized by `quantizer`. The result for a weight is cached
// until the quantizer changes.
void simulate_on(Kernel& kernel, const Source& source,
                 const std::shared_ptr<const SimulatedQuantizer>& quantizer, std::byte* target) {
  const std::span<float> result = floats(target, source.view.bytes.size() / sizeof(float));
  const auto values = elements<float>(source.view);
  if (kernel.role != SwitchRole::weight) return simulate(*quantizer, source.shape, values, result);
  const std::lock_guard lock(kernel.mutex);
  if (kernel.last.quantizer != quantizer) {
    kernel.last.values.resize(values.size());
    simulate(*quantizer, source.shape, values, kernel.last.values);
    kernel.last.quantizer = quantizer;
  }
  std::ranges::copy(kernel.last.values, result.begin());
}

// Whether every switch that the node depends on is set to as_in_file.
bool takes_second(const Kernel& kernel, const SwitchRun& run) {
  return kernel.has_choice && std::ranges::all_of(kernel.switches, [&](std::int64_t index) {
           return run.settings[index].state == SwitchSetting::State::as_in_file;
         });
}

void compute(Kernel& kernel, const SwitchRun& run, OrtKernelContext* raw) {
  Ort::KernelContext context(raw);
  const Switch& what = run.switches[kernel.switches[0]];
  const SwitchSetting& setting = run.settings[kernel.switches[0]];
  Source source = source_of(context.GetInput(0), what.name);
  source.view.shape = source.shape;
  Ort::UnownedValue output = context.GetOutput(0, source.shape);
  auto* target = static_cast<std::byte*>(output.GetTensorMutableRawData());
  if (run.observer && kernel.role != SwitchRole::selector) (*run.observer)({source.view});
  if (takes_second(kernel, run)) {
    const Source second = source_of(context.GetInput(1), what.name);
    if (second.view.bytes.data() != target)
      std::memmove(target, second.view.bytes.data(), second.view.bytes.size());
    return;
  }
  const bool simulates =
      kernel.role != SwitchRole::selector && setting.state == SwitchSetting::State::simulate;
  if (!simulates) return pass_on(kernel, source, what, target);
  require_float(source, what);
  if (clips(kernel)) {
    pass_on(kernel, source, what, target);
    source.view.bytes = {target, source.view.bytes.size()};
  }
  simulate_on(kernel, source, setting.simulated, target);
}

OrtStatusPtr guarded_compute(void* raw_kernel, OrtKernelContext* context) noexcept {
  SwitchRun* const run = ThreadRun<SwitchRun>::current();
  if (!run)
    return Ort::GetApi().CreateStatus(
        ORT_FAIL, "the execution provider runs nodes on other threads: nothing can be switched");
  try {
    compute(*static_cast<Kernel*>(raw_kernel), *run, context);
    return nullptr;
  } catch (...) {
    run->failure = std::current_exception();
    return Ort::GetApi().CreateStatus(ORT_FAIL, "stopped by a switch");
  }
}

OrtStatusPtr create_kernel(const OrtCustomOp* op, const OrtApi*, const OrtKernelInfo* info,
                           void** kernel) noexcept {
  return status_of([&] {
    const Ort::ConstKernelInfo details(info);
    auto made = std::make_unique<Kernel>();
    made->has_choice = static_cast<const Op*>(op)->has_choice;
    made->switches = details.GetAttributes<std::int64_t>(switch_attribute.data());
    made->clip_low = details.GetAttribute<float>(clip_low_attribute.data());
    made->clip_high = details.GetAttribute<float>(clip_high_attribute.data());
    made->role = SwitchRole(details.GetAttribute<std::int64_t>(role_attribute.data()));
    *kernel = made.release();
  });
}

// The first input has an undefined type: ONNX Runtime infers the output's type from it.
Op make_op(std::string_view name, ONNXTensorElementDataType second) {
  Op op{};
  set_common_parts(op);
  op.name = name;
  op.has_choice = second != ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  op.second = second;
  op.GetName = [](const OrtCustomOp* self) { return static_cast<const Op*>(self)->name.data(); };
  op.GetInputTypeCount = [](const OrtCustomOp* self) -> std::size_t {
    return static_cast<const Op*>(self)->has_choice ? 2 : 1;
  };
  op.GetOutputTypeCount = [](const OrtCustomOp*) -> std::size_t { return 1; };
  op.GetInputType = [](const OrtCustomOp* self, std::size_t index) {
    return index == 0 ? ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED
                      : static_cast<const Op*>(self)->second;
  };
  op.GetOutputType = op.GetInputType;
  op.CreateKernelV2 = create_kernel;
  op.KernelComputeV2 = guarded_compute;
  op.KernelDestroy = [](void* kernel) { delete static_cast<Kernel*>(kernel); };
  op.InferOutputShapeFn = [](const OrtCustomOp*, OrtShapeInferContext*) -> OrtStatusPtr {
    return nullptr;
  };
  if (!op.has_choice) return op;
  // No other node reads the output of the file's quantizer, so the switch may reuse its buffer.
  op.GetMayInplace = OutputInPlaceOf<1>::map;
  op.ReleaseMayInplace = OutputInPlaceOf<1>::release;
  return op;
}

}  // namespace

struct SwitchOp::State {
  Op ops[4] = {make_op(switch_op, ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED),
               make_op(choice_op, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT),
               make_op(choice_f16_op, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16),
               make_op(choice_bf16_op, ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16)};
  const OrtLibrary& library = ort_library();  // must be loaded before the domain is created
  Ort::CustomOpDomain domain{std::string(switch_domain).c_str()};
};

SwitchOp::SwitchOp() : state_(std::make_unique<State>()) {
  for (Op& op : state_->ops) state_->domain.Add(&op);
}
SwitchOp::~SwitchOp() = default;
OrtCustomOpDomain* SwitchOp::domain() const { return state_->domain; }

}  // namespace vernier
