#include "vernier/runtime/probe_kernel.h"

#include <fmt/format.h>
#include <onnxruntime_cxx_api.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "vernier/activity.h"
#include "vernier/error.h"
#include "vernier/model/onnx_type.h"
#include "vernier/runtime/custom_op.h"
#include "vernier/runtime/ort_library.h"

namespace vernier {
namespace {

struct Op : OrtCustomOp {
  std::string_view name;
  bool pair = false;  // has a second input
  bool mark = false;  // has a second input and a second output
  std::vector<UnwatchedTensor>* unreadable = nullptr;
};

struct Kernel {
  std::string tensor;
  std::string before;  // name of the quantizer's input; empty if not a PairProbe
};

// The node that a mark precedes or follows.
struct MarkKernel {
  std::string node, op;
};

void copy_strings(const Ort::ConstValue& source, Ort::UnownedValue& target) {
  const std::size_t count = source.GetTensorTypeAndShapeInfo().GetElementCount();
  for (std::size_t i = 0; i < count; ++i)
    target.FillStringTensorElement(source.GetStringTensorElement(i).c_str(), i);
}

std::size_t byte_count(int data_type, const Shape& shape) {
  const std::int64_t bits = element_count(shape) * onnx_bits(data_type);
  return static_cast<std::size_t>((bits + 7) / 8);
}

// ORT lets the output reuse the input's buffer, unless the output is a graph output with its own
// memory or the input is read again: then the bytes are copied.
void pass_through(const Ort::ConstValue& source, Ort::UnownedValue& target, int data_type,
                  std::size_t bytes) {
  if (source.GetTensorRawData() == target.GetTensorMutableRawData()) return;
  if (data_type == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING)
    copy_strings(source, target);
  else if (onnx_bits(data_type) == 0)
    throw Error(fmt::format("[onnxruntime] elements of {} cannot be passed through a probe",
                            onnx_type_name(data_type)));
  else if (bytes > 0)  // an empty tensor may have no memory
    std::memcpy(target.GetTensorMutableRawData(), source.GetTensorRawData(), bytes);
}

// A view of the second input, valid until the first input was shown. `shape` holds the view's
// shape.
ObservedTensor before(const Kernel& kernel, const Ort::KernelContext& context, Shape& shape) {
  const Ort::ConstValue source = context.GetInput(1);
  shape = source.GetTensorTypeAndShapeInfo().GetShape();
  const auto* data = static_cast<const std::byte*>(source.GetTensorRawData());
  const std::size_t bytes = byte_count(ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, shape);
  return {{kernel.before, DType::f32, shape, {data, bytes}}, {}, kernel.tensor};
}

void compute(const Kernel& kernel, const ProbeRun& run, OrtKernelContext* raw) {
  Ort::KernelContext context(raw);
  const Ort::ConstValue source = context.GetInput(0);
  const auto info = source.GetTensorTypeAndShapeInfo();
  const Shape shape = info.GetShape();
  const int data_type = info.GetElementType();
  const std::size_t bytes = byte_count(data_type, shape);
  Ort::UnownedValue target = context.GetOutput(0, shape);
  pass_through(source, target, data_type, bytes);
  const auto dtype = dtype_of_onnx(data_type);
  if (!dtype || !run.observer) return;
  Shape before_shape;
  if (!kernel.before.empty()) (*run.observer)(before(kernel, context, before_shape));
  auto* memory = static_cast<std::byte*>(target.GetTensorMutableRawData());
  (*run.observer)({{kernel.tensor, *dtype, shape, {memory, bytes}}, {memory, bytes}});
}

// Passes its input on as a probe does, but records the node instead of calling the observer.
OrtStatusPtr compute_mark(void* raw_kernel, OrtKernelContext* raw) noexcept {
  return status_of([&] {
    const auto& kernel = *static_cast<MarkKernel*>(raw_kernel);
    Ort::KernelContext context(raw);
    const Ort::ConstValue source = context.GetInput(0);
    const auto info = source.GetTensorTypeAndShapeInfo();
    const Shape shape = info.GetShape();
    Ort::UnownedValue target = context.GetOutput(0, shape);
    pass_through(source, target, info.GetElementType(), byte_count(info.GetElementType(), shape));
    *context.GetOutput(1, Shape{1}).GetTensorMutableData<float>() = 0;
    record_node(kernel.node, kernel.op);
  });
}

OrtStatusPtr create_mark(const OrtCustomOp*, const OrtApi*, const OrtKernelInfo* info,
                         void** kernel) noexcept {
  return status_of([&] {
    const Ort::ConstKernelInfo details(info);
    *kernel = new MarkKernel{details.GetAttribute<std::string>(marked_node_attribute.data()),
                             details.GetAttribute<std::string>(marked_op_attribute.data())};
  });
}

OrtStatusPtr guarded_compute(void* raw_kernel, OrtKernelContext* context) noexcept {
  ProbeRun* const run = ThreadRun<ProbeRun>::current();
  if (!run)
    return Ort::GetApi().CreateStatus(
        ORT_FAIL, "the execution provider runs nodes on other threads: nothing can be watched");
  try {
    compute(*static_cast<Kernel*>(raw_kernel), *run, context);
    return nullptr;
  } catch (...) {
    run->failure = std::current_exception();
    return Ort::GetApi().CreateStatus(ORT_FAIL, "stopped by the observer");
  }
}

OrtStatusPtr create_kernel(const OrtCustomOp* op, const OrtApi*, const OrtKernelInfo* info,
                           void** kernel) noexcept {
  return status_of([&] {
    const Ort::ConstKernelInfo details(info);
    const auto& own = *static_cast<const Op*>(op);
    auto name = details.GetAttribute<std::string>(probe_attribute.data());
    std::string before;
    if (own.pair) before = details.GetAttribute<std::string>(before_attribute.data());
    const int type = details.GetInputTypeInfo(0).GetTensorTypeAndShapeInfo().GetElementType();
    if (!dtype_of_onnx(type))
      own.unreadable->push_back({name, fmt::format("elements of {}", onnx_type_name(type))});
    *kernel = new Kernel{std::move(name), std::move(before)};
  });
}

// Copies the input's shape to the output if it is fully known. ORT reports unknown ranks as 0 and
// unknown dimensions as -1, and would accept these as facts. ORT infers the type by itself.
OrtStatusPtr same_shape(const OrtCustomOp*, OrtShapeInferContext* context) {
  const OrtApi& api = Ort::GetApi();
  OrtTensorTypeAndShapeInfo* info = nullptr;
  std::size_t rank = 0;
  if (auto* status = api.ShapeInferContext_GetInputTypeShape(context, 0, &info)) return status;
  if (auto* status = api.GetDimensionsCount(info, &rank)) return status;
  Shape shape(rank);
  if (auto* status = api.GetDimensions(info, shape.data(), rank)) return status;
  const bool known = rank > 0 && std::ranges::all_of(shape, [](auto dim) { return dim >= 0; });
  return known ? api.ShapeInferContext_SetOutputTypeShape(context, 0, info) : nullptr;
}

// The first input and output have any type. A PairProbe has a second input of float32; a Mark has a
// second input and a second output of float32.
Op make_op(std::string_view name, std::vector<UnwatchedTensor>& unreadable) {
  Op op{};
  set_common_parts(op);
  op.name = name;
  op.mark = name == mark_op;
  op.pair = op.mark || name == pair_probe_op;
  op.unreadable = &unreadable;
  op.GetName = [](const OrtCustomOp* self) { return static_cast<const Op*>(self)->name.data(); };
  op.GetInputTypeCount = [](const OrtCustomOp* self) -> std::size_t {
    return static_cast<const Op*>(self)->pair ? 2 : 1;
  };
  op.GetOutputTypeCount = [](const OrtCustomOp* self) -> std::size_t {
    return static_cast<const Op*>(self)->mark ? 2 : 1;
  };
  op.GetInputType = [](const OrtCustomOp*, std::size_t index) {
    return index == 0 ? ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED
                      : ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
  };
  op.GetOutputType = op.GetInputType;
  op.CreateKernelV2 = create_kernel;
  op.KernelComputeV2 = guarded_compute;
  op.KernelDestroy = [](void* kernel) { delete static_cast<Kernel*>(kernel); };
  op.InferOutputShapeFn = same_shape;
  if (op.mark) {
    op.CreateKernelV2 = create_mark;
    op.KernelComputeV2 = compute_mark;
    op.KernelDestroy = [](void* kernel) { delete static_cast<MarkKernel*>(kernel); };
  }
  if (name == copying_probe_op) return op;
  op.GetMayInplace = op.GetAliasMap = OutputInPlaceOf<0>::map;
  op.ReleaseMayInplace = op.ReleaseAliasMap = OutputInPlaceOf<0>::release;
  return op;
}

}  // namespace

struct ProbeOp::State {
  std::vector<UnwatchedTensor> unreadable;
  Op ops[4] = {make_op(probe_op, unreadable), make_op(pair_probe_op, unreadable),
               make_op(copying_probe_op, unreadable), make_op(mark_op, unreadable)};
  const OrtLibrary& library = ort_library();  // must be loaded before the domain is created
  Ort::CustomOpDomain domain{std::string(probe_domain).c_str()};
};

ProbeOp::ProbeOp() : state_(std::make_unique<State>()) {
  for (Op& op : state_->ops) state_->domain.Add(&op);
}
ProbeOp::~ProbeOp() = default;
OrtCustomOpDomain* ProbeOp::domain() const { return state_->domain; }
const std::vector<UnwatchedTensor>& ProbeOp::unreadable() const { return state_->unreadable; }

}  // namespace vernier
