#include <nlohmann/json.hpp>

#include "vernier/report/envelope.h"
#include "vernier/report/inspect.h"

namespace vernier {
namespace {

using Json = nlohmann::ordered_json;

// A dynamic dimension is its symbol, or null if it has none.
Json shape_json(const TensorSpec& spec) {
  if (!spec.ranked) return nullptr;
  return json_list<Json>(spec.shape, [&](const Dim& dim) {
    return !dim.is_dynamic()    ? Json(dim.size)
           : dim.symbol.empty() ? Json(nullptr)
                                : Json(dim.symbol);
  });
}

Json interface_json(const std::vector<TensorSpec>& specs, const std::vector<OtherValue>& others) {
  Json list = json_list<Json>(specs, [&](const TensorSpec& spec) {
    return Json{
        {"name", spec.name}, {"dtype", dtype_name(spec.dtype)}, {"shape", shape_json(spec)}};
  });
  for (const OtherValue& other : others)
    list.push_back({{"name", other.name}, {"type", other.type}});
  return list;
}

Json weights_json(const std::vector<WeightTotal>& totals) {
  return json_list<Json>(totals, [&](const WeightTotal& total) {
    return Json{{"dtype", total.dtype},
                {"tensors", total.tensors},
                {"elements", total.elements},
                {"bytes", total.bytes}};
  });
}

Json quantization_json(const QuantizationSummary& summary) {
  if (!is_quantized(summary)) return nullptr;
  Json blocks = json_list<Json>(summary.block_quantized, [&](const BlockQuantized& block) {
    return Json{{"operator", block.op_type},
                {"bits", block.bits},
                {"block_size", block.block_size},
                {"nodes", block.nodes}};
  });
  return {{"quantize_linear", summary.quantize},
          {"dequantize_linear", summary.dequantize},
          {"activation_pairs", summary.activation_pairs},
          {"weights",
           {{"per_tensor", summary.weights_per_tensor},
            {"per_channel", summary.weights_per_channel},
            {"blockwise", summary.weights_blockwise}}},
          {"types", summary.types},
          {"integer_operators", summary.integer_operators},
          {"dynamic_quantize_linear", summary.dynamic_quantize},
          {"block_quantized", std::move(blocks)}};
}

Json onnx_json(const ModelSummary& onnx) {
  Json json = {{"ir_version", onnx.ir_version},
               {"producer", onnx.producer},
               {"opsets", Json::array()},
               {"precision", onnx.precision},
               {"nodes", onnx.nodes},
               {"operators", Json::array()},
               {"quantization", quantization_json(onnx.quantization)},
               {"external_data", Json::array()},
               {"subgraphs", Json::array()},
               {"functions", Json::array()},
               {"index_inputs", onnx.index_lengths}};
  for (const OpsetImport& import : onnx.opsets)
    json["opsets"].push_back({{"domain", import.domain}, {"version", import.version}});
  for (const OperatorCount& counted : onnx.operators)
    json["operators"].push_back(
        {{"domain", counted.domain}, {"operator", counted.op_type}, {"count", counted.count}});
  for (const ExternalFile& file : onnx.external_files)
    json["external_data"].push_back(
        {{"location", file.location}, {"tensors", file.tensors}, {"bytes", file.bytes}});
  for (const SubgraphSummary& subgraph : onnx.subgraphs)
    json["subgraphs"].push_back({{"path", subgraph.path},
                                 {"operator", subgraph.op_type},
                                 {"nodes", subgraph.nodes},
                                 {"depth", subgraph.depth}});
  for (const FunctionSummary& function : onnx.functions)
    json["functions"].push_back({{"domain", function.domain},
                                 {"name", function.name},
                                 {"nodes", function.nodes},
                                 {"calls", function.calls}});
  return json;
}

Json leaves_json(const Inspection& inspection) {
  Json list = json_list<Json>(inspection.leaves, [&](const WatchedTensor& leaf) {
    return Json{{"path", leaf.name}, {"type", leaf.type}};
  });
  for (const UnwatchedTensor& leaf : inspection.unwatched_leaves)
    list.push_back({{"path", leaf.name}, {"type", leaf.type}, {"not_captured", leaf.reason}});
  return list;
}

Json operator_json(const LiveTensor& tensor) {
  return tensor.op.empty() ? Json(nullptr) : Json(tensor.op);
}

Json live_tensor_json(const LiveTensor& tensor) {
  const TensorStatistics& statistics = tensor.statistics;
  Json json = {{"name", tensor.name},
               {"operator", operator_json(tensor)},
               {"dtype", dtype_name(tensor.dtype)},
               {"shape", tensor.shape}};
  const bool finite = statistics.finite() > 0;
  json["min"] = finite ? Json(statistics.min) : Json(nullptr);
  json["max"] = finite ? Json(statistics.max) : Json(nullptr);
  json["mean"] = finite ? json_number(statistics.mean) : Json(nullptr);
  json["nan"] = statistics.nan;
  json["inf"] = statistics.positive_inf;
  json["-inf"] = statistics.negative_inf;
  return json;
}

Json live_json(const LiveTensors& live) {
  const auto origin = [&](int index) {
    return index < 0 ? Json(nullptr)
                     : Json{{"tensor", live.tensors[index].name},
                            {"operator", operator_json(live.tensors[index])}};
  };
  Json json = {{"inputs", live.inputs},
               {"sample", live.sample},
               {"tensors", Json::array()},
               {"first_nan", origin(live.first_nan)},
               {"first_inf", origin(live.first_inf)},
               {"not_shown", Json::array()}};
  for (const LiveTensor& tensor : live.tensors) json["tensors"].push_back(live_tensor_json(tensor));
  for (const UnwatchedTensor& tensor : live.unwatched)
    json["not_shown"].push_back({{"name", tensor.name}, {"reason", tensor.reason}});
  return json;
}

}  // namespace

std::string inspection_json(const std::string& model, const Inspection& inspection,
                            const std::optional<LiveTensors>& live) {
  const bool torch = inspection.format == ModelFormat::torchscript;
  const bool onnxruntime = inspection.format == ModelFormat::onnx && live;
  Json json = report_json<Json>({.run = {.command = "inspect",
                                         .candidate = model,
                                         .runtimes = {.onnxruntime = onnxruntime, .torch = torch}},
                                 .warnings = inspection.warnings});
  json["format"] = format_name(inspection.format);
  json["inputs"] = interface_json(inspection.inputs, inspection.other_inputs);
  json["outputs"] = interface_json(inspection.outputs, inspection.other_outputs);
  json["weights"] = weights_json(inspection.weights);
  if (inspection.onnx) json["onnx"] = onnx_json(*inspection.onnx);
  if (torch) json["leaves"] = leaves_json(inspection);
  if (inspection.format == ModelFormat::recorded) json["samples"] = inspection.recorded_samples;
  if (live) json["live"] = live_json(*live);
  return json_text(json);
}

}  // namespace vernier
