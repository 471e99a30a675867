#include "vernier/runtime/ort_values.h"

#include <fmt/format.h>
#include <onnxruntime_cxx_api.h>

#include "vernier/error.h"
#include "vernier/model/onnx_type.h"

namespace vernier {
namespace {

TensorSpec tensor_spec(const std::string& name, DType dtype,
                       const Ort::ConstTensorTypeAndShapeInfo& info) {
  TensorSpec spec{name, dtype, {}};
  const Shape sizes = info.GetShape();
  std::vector<const char*> symbols(sizes.size());
  info.GetSymbolicDimensions(symbols.data(), symbols.size());
  for (std::size_t i = 0; i < sizes.size(); ++i)
    spec.shape.push_back(sizes[i] < 0 ? Dim{-1, symbols[i]} : Dim{sizes[i], ""});
  return spec;
}

std::string type_name(const Ort::TypeInfo& type) {
  switch (type.GetONNXType()) {
    case ONNX_TYPE_TENSOR: return onnx_type_name(type.GetTensorTypeAndShapeInfo().GetElementType());
    case ONNX_TYPE_SEQUENCE: return "sequence";
    case ONNX_TYPE_MAP: return "map";
    case ONNX_TYPE_OPTIONAL: return "optional";
    case ONNX_TYPE_SPARSETENSOR: return "sparse tensor";
    default: return "unknown";
  }
}

}  // namespace

SessionOutputs session_outputs(const Ort::Session& session) {
  SessionOutputs outputs;
  const Ort::AllocatorWithDefaultOptions allocator;
  for (std::size_t i = 0; i < session.GetOutputCount(); ++i) {
    const std::string name = session.GetOutputNameAllocated(i, allocator).get();
    const Ort::TypeInfo type = session.GetOutputTypeInfo(i);
    std::optional<DType> dtype;
    if (type.GetONNXType() == ONNX_TYPE_TENSOR)
      dtype = dtype_of_onnx(type.GetTensorTypeAndShapeInfo().GetElementType());
    if (dtype)
      outputs.tensors.push_back(tensor_spec(name, *dtype, type.GetTensorTypeAndShapeInfo()));
    else
      outputs.others.push_back({name, type_name(type)});
  }
  return outputs;
}

Ort::Value to_ort(const Tensor& tensor) {
  const auto memory = Ort::MemoryInfo::CreateCpu(OrtDeviceAllocator, OrtMemTypeDefault);
  // ORT takes non-const memory, and does not write to inputs.
  return Ort::Value::CreateTensor(memory, const_cast<std::byte*>(tensor.bytes.data()),
                                  tensor.bytes.size(), tensor.shape.data(), tensor.shape.size(),
                                  ONNXTensorElementDataType(onnx_data_type(tensor.dtype)));
}

Tensor from_ort(const std::string& name, const Ort::Value& value) {
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

}  // namespace vernier
