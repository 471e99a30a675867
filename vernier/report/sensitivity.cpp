#include "vernier/report/sensitivity.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "vernier/report/number.h"

namespace vernier {
namespace {

std::string samples_text(std::int64_t count) {
  return fmt::format("{} {}", count, count == 1 ? "sample" : "samples");
}

// Half the width of the interval.
std::string gain_text(const MeasuredGain& gain) {
  return fmt::format("{:+.1f} dB [{:.1f}, {:.1f}]", gain.after_db - gain.before_db,
                     gain.gain_db.low, gain.gain_db.high);
}

std::string remedy_text(const QuantizerRemedy& remedy) {
  switch (remedy.kind) {
    case QuantizerRemedy::Kind::range:
      return fmt::format("range [{:.3g}, {:.3g}]", remedy.low, remedy.high);
    case QuantizerRemedy::Kind::per_channel: return "a scale for each output channel";
    case QuantizerRemedy::Kind::sixteen_bits: return "16 bits";
  }
  return "";
}

Table nodes_table(const Sensitivity& sensitivity, int top) {
  Table table{.title = "Noise at the output: each node's quantizers alone, and all but them",
              .columns = {{"node", Align::left},
                          {"op", Align::left},
                          {"noise alone"},
                          {"gain in float"},
                          {"chain"}},
              .note = fmt::format("{} dB as in the file, on {}; shares need not add up to 100%",
                                  format_decibels(sensitivity.output_db),
                                  samples_text(sensitivity.samples))};
  for (const NodeSensitivity& row : sensitivity.nodes) {
    if (std::ssize(table.rows) == top) break;
    table.rows.push_back({row.node, row.op.empty() ? "input" : row.op,
                          fmt::format("{:.1f}%", 100 * row.noise_share),
                          row.gain_db ? fmt::format("{:+.2f} dB", *row.gain_db) : "-",
                          row.chain > 0 ? fmt::format("{}", row.chain) : ""});
  }
  return table;
}

Table sets_table(const Sensitivity& sensitivity) {
  Table table{
      .title = "Kept in float together",
      .columns = {{"nodes"}, {"output dB"}, {"gain, 95%", Align::left}, {"which", Align::left}},
      .note = fmt::format("measured on {} that they were not chosen on",
                          samples_text(sensitivity.held_out))};
  for (const FloatSet& set : sensitivity.keep_in_float)
    table.rows.push_back({fmt::format("{}", set.nodes.size()), format_decibels(set.gain.after_db),
                          gain_text(set.gain), fmt::format("{}", fmt::join(set.nodes, ", "))});
  return table;
}

Table remedies_table(const Sensitivity& sensitivity, int top) {
  Table table{.title = "Cheaper remedies, one at a time",
              .columns = {{"tensor", Align::left},
                          {"remedy", Align::left},
                          {"output dB"},
                          {"gain, 95%", Align::left}}};
  for (const QuantizerRemedy& remedy : sensitivity.remedies) {
    if (std::ssize(table.rows) == top) break;
    table.rows.push_back({remedy.tensor, remedy_text(remedy), format_decibels(remedy.gain.after_db),
                          gain_text(remedy.gain)});
  }
  return table;
}

Table flips_table(const Sensitivity& sensitivity) {
  Table table{.title = "Samples whose answer changed",
              .columns = {{"sample"},
                          {"float"},
                          {"quantized"},
                          {"label"},
                          {"nodes that in float bring the answer back", Align::left}}};
  for (const Flip& flip : sensitivity.flips)
    table.rows.push_back(
        {fmt::format("{}", flip.sample), fmt::format("{}", flip.real),
         fmt::format("{}", flip.quantized), flip.label ? fmt::format("{}", *flip.label) : "",
         flip.nodes.empty() ? "none found" : fmt::format("{}", fmt::join(flip.nodes, ", "))});
  return table;
}

// The set to paste: of three nodes or, where there is none, the largest.
const FloatSet& pasted(const std::vector<FloatSet>& sets) {
  const auto three =
      std::ranges::find_if(sets, [](const FloatSet& set) { return set.nodes.size() >= 3; });
  return three == sets.end() ? sets.back() : *three;
}

}  // namespace

std::string sensitivity_conclusion(const Sensitivity& sensitivity) {
  std::string text;
  for (const FloatSet& set : sensitivity.keep_in_float) {
    const MeasuredGain& gain = set.gain;
    const double half = (gain.gain_db.high - gain.gain_db.low) / 2;
    text +=
        text.empty()
            ? fmt::format(
                  "Keep {} in float: {:.1f} -> {:.1f} dB (±{:.1f})",
                  set.nodes.size() == 1 ? set.nodes[0] : fmt::format("these {}", set.nodes.size()),
                  gain.before_db, gain.after_db, half)
            : fmt::format("; these {}: {:.1f} dB (±{:.1f})", set.nodes.size(), gain.after_db, half);
  }
  return text.empty() ? text : text + ".";
}

void describe_sensitivity(const Sensitivity& sensitivity, int top, std::vector<Block>& blocks) {
  const auto add = [&](Table table) {
    if (!table.rows.empty()) blocks.emplace_back(std::move(table));
  };
  add(nodes_table(sensitivity, top));
  add(sets_table(sensitivity));
  if (!sensitivity.keep_in_float.empty()) {
    const std::vector<std::string>& nodes = pasted(sensitivity.keep_in_float).nodes;
    blocks.emplace_back(Code{fmt::format("nodes_to_exclude=['{}']", fmt::join(nodes, "', '"))});
    blocks.emplace_back(Code{fmt::format("--keep-fp32 node:{}", fmt::join(nodes, ",node:"))});
  }
  add(remedies_table(sensitivity, top));
  add(flips_table(sensitivity));
}

}  // namespace vernier
