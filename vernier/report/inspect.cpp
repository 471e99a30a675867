#include "vernier/report/inspect.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "vernier/report/number.h"

namespace vernier {
namespace {

using Facts = std::vector<std::pair<std::string, Cell>>;

void add_fact(Facts& facts, const char* name, const std::string& value) {
  if (!value.empty()) facts.emplace_back(name, value);
}

std::string weights_text(const Inspection& inspection) {
  WeightTotal sum;
  std::vector<std::string> parts;
  for (const WeightTotal& total : inspection.weights) {
    sum.elements = add_sizes(sum.elements, total.elements);
    sum.bytes = add_sizes(sum.bytes, total.bytes);
    parts.push_back(fmt::format("{} {} in {}", total.elements, total.dtype,
                                format_count(total.tensors, "tensor")));
  }
  if (parts.empty()) return "";
  return fmt::format("{}, {}: {}", sum.elements, format_bytes(sum.bytes), fmt::join(parts, ", "));
}

// Lists only domains that nodes use: exporters import more.
std::string opsets_text(const ModelSummary& onnx) {
  std::vector<std::string> opsets;
  for (const OpsetImport& import : onnx.opsets)
    if (std::ranges::count(onnx.operators, import.domain, &OperatorCount::domain))
      opsets.push_back(fmt::format("{} {}", import.domain, import.version));
  return fmt::format("IR {}, {}", onnx.ir_version, fmt::join(opsets, ", "));
}

std::string external_text(const ModelSummary& onnx) {
  return joined(onnx.external_files, [](const ExternalFile& file) {
    return fmt::format("{} ({} in {})", file.location, format_bytes(file.bytes),
                       format_count(file.tensors, "tensor"));
  });
}

std::string counts_text(const std::map<std::string, std::int64_t>& counts) {
  return joined(counts,
                [](const auto& count) { return fmt::format("{} {}", count.second, count.first); });
}

std::string weight_granularity_text(const QuantizationSummary& summary) {
  std::map<std::string, std::int64_t> counts;
  if (summary.weights_per_tensor) counts["per tensor"] = summary.weights_per_tensor;
  if (summary.weights_per_channel) counts["per channel"] = summary.weights_per_channel;
  if (summary.weights_blockwise) counts["blockwise"] = summary.weights_blockwise;
  return counts_text(counts);
}

std::string block_text(const QuantizationSummary& summary) {
  return joined(summary.block_quantized, [](const BlockQuantized& block) {
    return fmt::format("{} {} of {} bits in blocks of {}", block.nodes, block.op_type, block.bits,
                       block.block_size);
  });
}

Panel quantization_panel(const QuantizationSummary& summary) {
  Panel panel{.title = "Quantization"};
  const auto count = [&](const char* name, std::int64_t value) {
    if (value > 0) panel.facts.emplace_back(name, std::to_string(value));
  };
  count("QuantizeLinear", summary.quantize);
  count("DequantizeLinear", summary.dequantize);
  count("activations (Q-DQ pairs)", summary.activation_pairs);
  add_fact(panel.facts, "weights", weight_granularity_text(summary));
  add_fact(panel.facts, "types", counts_text(summary.types));
  add_fact(panel.facts, "integer operators", counts_text(summary.integer_operators));
  count("DynamicQuantizeLinear", summary.dynamic_quantize);
  add_fact(panel.facts, "block-quantized", block_text(summary));
  return panel;
}

Panel subject_panel(const std::string& model, const Inspection& inspection,
                    const std::optional<LiveTensors>& live) {
  Panel panel;
  panel.facts.emplace_back("model", model);
  if (inspection.format != ModelFormat::onnx)
    panel.facts.emplace_back("format", format_name(inspection.format));
  if (inspection.format == ModelFormat::recorded)
    panel.facts.emplace_back("samples", std::to_string(inspection.recorded_samples));
  if (const auto& onnx = inspection.onnx) {
    panel.facts.emplace_back("format", "onnx " + opsets_text(*onnx));
    add_fact(panel.facts, "producer", onnx->producer);
    panel.facts.emplace_back("precision", onnx->precision);
    panel.facts.emplace_back("nodes", std::to_string(onnx->nodes));
  }
  add_fact(panel.facts, "weights", weights_text(inspection));
  if (inspection.onnx) add_fact(panel.facts, "external data", external_text(*inspection.onnx));
  if (live)
    panel.facts.emplace_back("run on", fmt::format("sample {} ({})", live->sample, live->inputs));
  return panel;
}

Table interface_table(const Inspection& inspection) {
  Table table{.columns = {{"", Align::left},
                          {"name", Align::left},
                          {"dtype", Align::left},
                          {"shape", Align::left}}};
  const bool recorded = inspection.format == ModelFormat::recorded;
  const auto add = [&](const char* kind, const std::vector<TensorSpec>& specs,
                       const std::vector<OtherValue>& others) {
    for (const TensorSpec& spec : specs)
      table.rows.push_back(
          {kind, spec.name, dtype_name(spec.dtype), spec.ranked ? format_shape(spec.shape) : "?"});
    for (const OtherValue& other : others) table.rows.push_back({kind, other.name, other.type, ""});
  };
  add("input", inspection.inputs, inspection.other_inputs);
  add(recorded ? "array" : "output", inspection.outputs, inspection.other_outputs);
  if (inspection.onnx)
    for (const auto& [name, length] : inspection.onnx->index_lengths)
      table.note +=
          fmt::format("{}{} holds indices below {}", table.note.empty() ? "" : "; ", name, length);
  return table;
}

Table operators_table(const ModelSummary& onnx) {
  Table table{.columns = {{"operator", Align::left}, {"count"}}};
  for (const OperatorCount& counted : onnx.operators)
    table.rows.push_back(
        {counted.domain == "ai.onnx" ? counted.op_type : counted.domain + "." + counted.op_type,
         std::to_string(counted.count)});
  return table;
}

Table subgraphs_table(const ModelSummary& onnx) {
  Table table{.columns = {{"subgraph", Align::left}, {"of", Align::left}, {"nodes"}}};
  for (const SubgraphSummary& subgraph : onnx.subgraphs)
    if (subgraph.depth == 1)
      table.rows.push_back({subgraph.path, subgraph.op_type, std::to_string(subgraph.nodes)});
  const std::size_t inner = onnx.subgraphs.size() - table.rows.size();
  if (inner > 0) table.note = fmt::format("{} inside these; JSON lists them", inner);
  return table;
}

Table functions_table(const ModelSummary& onnx) {
  Table table{.columns = {{"function", Align::left}, {"nodes"}, {"calls"}}};
  for (const FunctionSummary& function : onnx.functions)
    table.rows.push_back({function.domain + "." + function.name, std::to_string(function.nodes),
                          std::to_string(function.calls)});
  return table;
}

Table leaves_table(const Inspection& inspection) {
  Table table{.columns = {{"leaf", Align::left}, {"type", Align::left}, {"", Align::left}}};
  for (const WatchedTensor& leaf : inspection.leaves)
    table.rows.push_back({leaf.name, leaf.type, {""}});
  for (const UnwatchedTensor& leaf : inspection.unwatched_leaves)
    table.rows.push_back({leaf.name, leaf.type, {leaf.reason, Tone::fair}});
  return table;
}

Cell flags_cell(const TensorStatistics& statistics) {
  std::vector<std::string> flags;
  if (statistics.nan > 0) flags.push_back(fmt::format("{} nan", statistics.nan));
  if (statistics.inf() > 0) flags.push_back(fmt::format("{} inf", statistics.inf()));
  return {fmt::format("{}", fmt::join(flags, ", ")), Tone::bad};
}

Table live_table(const LiveTensors& live) {
  Table table{.columns = {{"tensor", Align::left},
                          {"operator", Align::left},
                          {"dtype", Align::left},
                          {"shape", Align::left},
                          {"min"},
                          {"max"},
                          {"mean"},
                          {"", Align::left}}};
  for (const LiveTensor& tensor : live.tensors) {
    const TensorStatistics& statistics = tensor.statistics;
    const auto number = [&](double value) -> Cell {
      if (statistics.finite() == 0) return no_value();
      return format_significant(value);
    };
    table.rows.push_back({tensor.name, tensor.op, dtype_name(tensor.dtype),
                          format_shape(tensor.shape), number(statistics.min),
                          number(statistics.max), number(statistics.mean), flags_cell(statistics)});
  }
  if (!live.unwatched.empty())
    table.note = fmt::format("not shown: {}", format_count(live.unwatched.size(), "tensor"));
  return table;
}

Paragraph origin_paragraph(const LiveTensors& live, int index, const char* what) {
  const LiveTensor& tensor = live.tensors[index];
  return {{fmt::format("first {} in '{}'{}", what, tensor.name,
                       tensor.op.empty() ? "" : ", written by " + tensor.op),
           Tone::bad}};
}

void add_live(std::vector<Block>& blocks, const LiveTensors& live) {
  blocks.emplace_back(live_table(live));
  if (live.first_nan >= 0) blocks.emplace_back(origin_paragraph(live, live.first_nan, "NaN"));
  if (live.first_inf >= 0) blocks.emplace_back(origin_paragraph(live, live.first_inf, "infinity"));
}

}  // namespace

std::string_view format_name(ModelFormat format) {
  switch (format) {
    case ModelFormat::onnx: return "onnx";
    case ModelFormat::torchscript: return "torchscript";
    case ModelFormat::recorded: return "recorded";
    case ModelFormat::hosted: return "hosted";
  }
  return "";
}

Document describe_inspection(const std::string& model, const Inspection& inspection,
                             const std::optional<LiveTensors>& live) {
  Document document;
  std::vector<Block>& blocks = document.blocks;
  const auto add_table = [&](Table table) {
    if (!table.rows.empty()) blocks.emplace_back(std::move(table));
  };
  blocks.emplace_back(subject_panel(model, inspection, live));
  add_table(interface_table(inspection));
  if (const auto& onnx = inspection.onnx) {
    add_table(operators_table(*onnx));
    if (is_quantized(onnx->quantization))
      blocks.emplace_back(quantization_panel(onnx->quantization));
    add_table(subgraphs_table(*onnx));
    add_table(functions_table(*onnx));
  }
  add_table(leaves_table(inspection));
  for (const std::string& warning : inspection.warnings)
    blocks.emplace_back(Paragraph{{"warning: " + warning, Tone::fair}});
  if (live) add_live(blocks, *live);
  return document;
}

}  // namespace vernier
