#pragma once

// ONNX's messages, declared so that no header needs protobuf's.
namespace vernier_onnx {
class AttributeProto;
class FunctionProto;
class GraphProto;
class ModelProto;
class NodeProto;
class TensorProto;
class TypeProto;
class ValueInfoProto;
}  // namespace vernier_onnx

namespace vernier {

using vernier_onnx::AttributeProto;
using vernier_onnx::FunctionProto;
using vernier_onnx::GraphProto;
using vernier_onnx::ModelProto;
using vernier_onnx::NodeProto;
using vernier_onnx::TensorProto;
using vernier_onnx::TypeProto;
using vernier_onnx::ValueInfoProto;

}  // namespace vernier
