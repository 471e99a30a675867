#include "vernier/runtime/probe_kernel.h"

#include <fmt/format.h>
#include <onnxruntime_cxx_api.h>

#include <algorithm>
#include <cstring>

#include "vernier/error.h"
#include "vernier/model/onnx_type.h"

namespace vernier {
namespace {

struct Op : OrtCustomOp {
  ProbeSink* sink = nullptr;
};

struct Kernel {
  ProbeSink* sink;
  std::string tensor;
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

// ORT gives the output the input's buffer, unless something forbids it: the output is a graph
// output with memory of its own, or the input is needed again.
void pass_through(const Ort::ConstValue& source, Ort::UnownedValue& target, int data_type,
                  std::size_t bytes) {
  if (source.GetTensorRawData() == target.GetTensorMutableRawData()) return;
  if (data_type == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING)
    copy_strings(source, target);
  else if (onnx_bits(data_type) != 0)
    std::memcpy(target.GetTensorMutableRawData(), source.GetTensorRawData(), bytes);
  else
    throw Error(fmt::format("[onnxruntime] elements of {} cannot be passed through a probe",
                            onnx_type_name(data_type)));
}

void compute(const Kernel& kernel, OrtKernelContext* raw) {
  Ort::KernelContext context(raw);
  const Ort::ConstValue source = context.GetInput(0);
  const auto info = source.GetTensorTypeAndShapeInfo();
  const Shape shape = info.GetShape();
  const int data_type = info.GetElementType();
  const std::size_t bytes = byte_count(data_type, shape);
  Ort::UnownedValue target = context.GetOutput(0, shape);
  pass_through(source, target, data_type, bytes);
  const auto dtype = dtype_of_onnx(data_type);
  if (!dtype) return;
  const auto* data = static_cast<const std::byte*>(source.GetTensorRawData());
  const TensorView view{kernel.tensor, *dtype, shape, {data, bytes}};
  if (kernel.sink->observer) (*kernel.sink->observer)(view);
  if (kernel.sink->rewriter)
    (*kernel.sink->rewriter)(view,
                             {static_cast<std::byte*>(target.GetTensorMutableRawData()), bytes});
}

OrtStatusPtr guarded_compute(void* raw_kernel, OrtKernelContext* context) noexcept {
  const auto& kernel = *static_cast<Kernel*>(raw_kernel);
  try {
    compute(kernel, context);
    return nullptr;
  } catch (...) {
    kernel.sink->failure = std::current_exception();
    return Ort::GetApi().CreateStatus(ORT_FAIL, "stopped by the observer");
  }
}

OrtStatusPtr create_kernel(const OrtCustomOp* op, const OrtApi*, const OrtKernelInfo* info,
                           void** kernel) noexcept {
  try {
    const Ort::ConstKernelInfo details(info);
    ProbeSink& sink = *static_cast<const Op*>(op)->sink;
    auto name = details.GetAttribute<std::string>(std::string(probe_attribute).c_str());
    const int type = details.GetInputTypeInfo(0).GetTensorTypeAndShapeInfo().GetElementType();
    if (!dtype_of_onnx(type))
      sink.unreadable.push_back({name, fmt::format("elements of {}", onnx_type_name(type))});
    *kernel = new Kernel{&sink, std::move(name)};
    return nullptr;
  } catch (const std::exception& error) {
    return Ort::GetApi().CreateStatus(ORT_FAIL, error.what());
  }
}

std::size_t output_is_input(int** input, int** output) {
  *input = new int[1]{0};
  *output = new int[1]{0};
  return 1;
}

void release_map(int* input, int* output) {
  delete[] input;
  delete[] output;
}

// Passes the shape on where it is fully known. ORT hands unknown ranks and dimensions over as 0 and
// -1 and would take these back as facts; the type it passes on by itself.
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

Op make_op(ProbeSink& sink) {
  Op op{};
  op.version = ORT_API_VERSION;
  op.sink = &sink;
  op.GetName = [](const OrtCustomOp*) { return probe_op.data(); };
  op.GetExecutionProviderType = [](const OrtCustomOp*) -> const char* { return nullptr; };
  op.GetInputTypeCount = [](const OrtCustomOp*) -> std::size_t { return 1; };
  op.GetOutputTypeCount = op.GetInputTypeCount;
  op.GetInputType = [](const OrtCustomOp*, std::size_t) {
    return ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  };
  op.GetOutputType = op.GetInputType;
  op.GetInputCharacteristic = [](const OrtCustomOp*, std::size_t) { return INPUT_OUTPUT_REQUIRED; };
  op.GetOutputCharacteristic = op.GetInputCharacteristic;
  op.GetInputMemoryType = [](const OrtCustomOp*, std::size_t) { return OrtMemTypeDefault; };
  op.GetVariadicInputMinArity = [](const OrtCustomOp*) { return 1; };
  op.GetVariadicOutputMinArity = op.GetVariadicInputMinArity;
  op.GetVariadicInputHomogeneity = op.GetVariadicInputMinArity;
  op.GetVariadicOutputHomogeneity = op.GetVariadicInputMinArity;
  op.CreateKernelV2 = create_kernel;
  op.KernelComputeV2 = guarded_compute;
  op.KernelDestroy = [](void* kernel) { delete static_cast<Kernel*>(kernel); };
  op.InferOutputShapeFn = same_shape;
  op.GetStartVersion = [](const OrtCustomOp*) { return 1; };
  op.GetEndVersion = [](const OrtCustomOp*) { return 1; };
  op.GetMayInplace = output_is_input;
  op.ReleaseMayInplace = release_map;
  op.GetAliasMap = output_is_input;
  op.ReleaseAliasMap = release_map;
  return op;
}

}  // namespace

struct ProbeOp::State {
  Op op;
  Ort::CustomOpDomain domain;
};

ProbeOp::ProbeOp(ProbeSink& sink)
    : state_(std::make_unique<State>(
          State{make_op(sink), Ort::CustomOpDomain(std::string(probe_domain).c_str())})) {
  state_->domain.Add(&state_->op);
}
ProbeOp::~ProbeOp() = default;
OrtCustomOpDomain* ProbeOp::domain() const { return state_->domain; }

}  // namespace vernier
