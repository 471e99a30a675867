#include <fmt/format.h>
#include <vernier_onnx.pb.h>

#include "vernier/analysis/quantize/graph_writer.h"
#include "vernier/analysis/quantize/write.h"
#include "vernier/model/index.h"
#include "vernier/model/make_node.h"
#include "vernier/tensor/convert.h"
#include "vernier/tensor/permute.h"

namespace vernier {
namespace {

constexpr const char* microsoft = "com.microsoft";

// The weight of a matrix product as [K, N]; nullopt for other nodes and forms.
std::optional<Tensor> matrix_of(const GraphIndex& graph, const NodeProto& node,
                                const PlacedWeight& weight) {
  if (weight.reader.input != 1) return std::nullopt;
  const bool gemm = is_op(node, "Gemm");
  if (!gemm && !is_op(node, "MatMul")) return std::nullopt;
  if (gemm && (attribute_int(node, "transA", 0) != 0 || attribute_float(node, "alpha", 1) != 1 ||
               attribute_float(node, "beta", 1) != 1))
    return std::nullopt;
  std::optional<Tensor> value = graph.value(weight.name);
  if (!value || value->shape.size() != 2) return std::nullopt;
  if (gemm && attribute_int(node, "transB", 0) != 0)
    return permute_axes(convert(*value, DType::f32), std::vector{1, 0});
  return value;
}

void write_n_bits(GraphWriter& writer, const NodeProto& node, int number, const Tensor& matrix,
                  const std::string& stem, const QuantizationChoices& choices) {
  BlockOptions options = choices.blocks;
  if (const auto bits = choices.weight_bits.find(stem); bits != choices.weight_bits.end())
    options.bits = bits->second;
  const auto packed = choices.packed
                          ? choices.packed->pack(stem, matrix, node.input(0), options)
                          : std::make_shared<const PackedWeight>(pack_blocks(matrix, options));
  const std::string bias = is_op(node, "Gemm") ? input_name(node, 2) : "";
  const std::string product =
      bias.empty() ? node.output(0) : writer.fresh_name(node.output(0) + "_product");
  std::vector<std::string> inputs = {
      node.input(0), writer.add_constant(fmt::format("{}_Q{}", stem, options.bits), packed->packed),
      writer.add_constant(stem + "_scales", packed->scales)};
  if (packed->zero_points)
    inputs.push_back(writer.add_constant(stem + "_zero_points", *packed->zero_points));
  NodeProto& product_node =
      writer.insert_before(number, "MatMulNBits", inputs, {product}, microsoft);
  product_node.set_name(node.name());
  add_int(product_node, "K", matrix.shape[0]);
  add_int(product_node, "N", matrix.shape[1]);
  add_int(product_node, "bits", options.bits);
  add_int(product_node, "block_size", options.block_size);
  if (!bias.empty()) writer.insert_before(number, "Add", {product, bias}, {node.output(0)});
  writer.drop(number);
}

StoredWeight store(const ModelIndex& index, const PlacedWeight& weight,
                   const QuantizationChoices& choices) {
  WeightOptions options{
      .bits = 8, .storage = choices.storage, .axis = choices.per_channel ? weight.axis : -1};
  if (const auto rule = choices.weight_rules.find(weight.name); rule != choices.weight_rules.end())
    options.rule = rule->second;
  return quantize_weight(index.model().view(*index.main().constant(weight.name)), options);
}

// Multiplies an integer product by both scales.
void write_scaled(GraphWriter& writer, int number, const std::string& integers,
                  const std::string& scale, Tensor weight_scale, const std::string& stem,
                  const std::string& output) {
  const std::string real = writer.fresh_name(stem + "_real");
  const std::string scales = writer.fresh_name(stem + "_scales");
  NodeProto& cast = writer.insert_before(number, "Cast", {integers}, {real});
  add_int(cast, "to", TensorProto::FLOAT);
  writer.insert_before(
      number, "Mul", {scale, writer.add_constant(stem + "_weight_scale", std::move(weight_scale))},
      {scales});
  writer.insert_before(number, "Mul", {real, scales}, {output});
}

class DynamicWriter {
 public:
  DynamicWriter(const ModelIndex& index, const PlacementPlan& plan,
                const QuantizationChoices& choices)
      : index_(index), plan_(plan), choices_(choices), writer_(index.model().clone()) {}

  Model write() {
    for (const PlacedNode& placed : plan_.nodes) {
      if (placed.weights.size() != 1 || placed.channels == 0) continue;
      const NodeProto& node = index_.main().graph().node(placed.node);
      const PlacedWeight& weight = plan_.weights[placed.weights.front()];
      if (placed.op == "Conv") write_conv(node, placed, weight);
      if (const auto matrix = matrix_of(index_.main(), node, weight))
        write_matmul(node, placed, *matrix);
    }
    return writer_.finish();
  }

 private:
  struct Quantized {
    std::string stored, scale, zero_point;
  };

  // Quantizes each activation once, before its first reader.
  const Quantized& quantized(const std::string& tensor, int number) {
    Quantized& names = quantized_[tensor];
    if (!names.stored.empty()) return names;
    names = {writer_.fresh_name(tensor + "_quantized"), writer_.fresh_name(tensor + "_scale"),
             writer_.fresh_name(tensor + "_zero_point")};
    writer_.insert_before(number, "DynamicQuantizeLinear", {tensor},
                          {names.stored, names.scale, names.zero_point});
    return names;
  }

  std::pair<std::string, std::string> constants(const std::string& stem, StoredWeight& weight) {
    Tensor zero_point = make_tensor("", weight.quantizer.dtype, {});
    zero_point.bytes[0] = weight.quantizer.zero_point->bytes[0];
    return {writer_.add_constant(stem + "_quantized", std::move(weight.stored)),
            writer_.add_constant(stem + "_zero_point", std::move(zero_point))};
  }

  void write_matmul(const NodeProto& node, const PlacedNode& placed, const Tensor& matrix) {
    StoredWeight weight = quantize_weight(matrix, {.storage = choices_.storage, .axis = 1});
    const Quantized& input = quantized(node.input(0), placed.node);
    const std::string stem = plan_.weights[placed.weights.front()].name;
    const auto [stored, zero_point] = constants(stem, weight);
    const std::string integers = writer_.fresh_name(placed.output + "_integers");
    writer_.insert_before(placed.node, "MatMulInteger",
                          {input.stored, stored, input.zero_point, zero_point}, {integers});
    finish(node, placed, integers, input.scale, weight.quantizer.scale);
  }

  void write_conv(const NodeProto& node, const PlacedNode& placed, const PlacedWeight& weight) {
    StoredWeight stored = store(index_, weight, choices_);
    const Quantized& input = quantized(node.input(0), placed.node);
    const auto [name, zero_point] = constants(weight.name, stored);
    const std::string integers = writer_.fresh_name(placed.output + "_integers");
    NodeProto& conv = writer_.insert_before(
        placed.node, "ConvInteger", {input.stored, name, input.zero_point, zero_point}, {integers});
    *conv.mutable_attribute() = node.attribute();
    Tensor scale = stored.quantizer.scale;
    const std::int64_t spatial = index_.main().constant(weight.name)->dims_size() - 2;
    if (!scale.shape.empty()) scale.shape.insert(scale.shape.end(), spatial, 1);
    finish(node, placed, integers, input.scale, std::move(scale), spatial);
  }

  void finish(const NodeProto& node, const PlacedNode& placed, const std::string& integers,
              const std::string& scale, Tensor weight_scale, std::int64_t spatial = 0) {
    std::string bias = placed.op == "MatMul" ? "" : input_name(node, 2);
    const std::string product =
        bias.empty() ? placed.output : writer_.fresh_name(placed.output + "_product");
    write_scaled(writer_, placed.node, integers, scale, std::move(weight_scale), placed.output,
                 product);
    if (!bias.empty()) {
      if (spatial > 0) {
        Tensor shaped = convert(*index_.main().value(bias), DType::f32);
        shaped.shape.insert(shaped.shape.end(), spatial, 1);
        bias = writer_.add_constant(bias + "_shaped", std::move(shaped));
      }
      writer_.insert_before(placed.node, "Add", {product, bias}, {placed.output});
    }
    writer_.drop(placed.node);
  }

  const ModelIndex& index_;
  const PlacementPlan& plan_;
  const QuantizationChoices& choices_;
  GraphWriter writer_;
  std::map<std::string, Quantized> quantized_;
};

}  // namespace

Model write_weight_only(const ModelIndex& model, const PlacementPlan& plan,
                        const QuantizationChoices& choices) {
  const GraphIndex& graph = model.main();
  GraphWriter writer(model.model().clone());
  std::map<std::pair<std::string, int>, std::string> written;
  for (const PlacedWeight& weight : plan.weights) {
    const NodeProto& node = graph.graph().node(weight.reader.node);
    if (choices.precision.weight_bits == 4)
      if (const auto matrix = matrix_of(graph, node, weight)) {
        write_n_bits(writer, node, weight.reader.node, *matrix, weight.name, choices);
        continue;
      }
    std::string& name = written[{weight.name, weight.axis}];
    if (name.empty()) {
      StoredWeight stored = store(model, weight, choices);
      name = writer.dequantized(weight.reader.node, weight.name, std::move(stored.stored),
                                stored.quantizer);
    }
    writer.node(weight.reader.node).set_input(weight.reader.input, name);
  }
  return writer.finish();
}

Model write_dynamic(const ModelIndex& model, const PlacementPlan& plan,
                    const QuantizationChoices& choices) {
  return DynamicWriter(model, plan, choices).write();
}

}  // namespace vernier
