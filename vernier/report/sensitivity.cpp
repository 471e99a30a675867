#include "vernier/report/sensitivity.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "vernier/report/decisions.h"
#include "vernier/report/number.h"

namespace vernier {
namespace {

std::string gain_text(const MeasuredGain& gain) {
  if (gain.kl)
    return fmt::format("{:+.2g} [{:.2g}, {:.2g}]", gain.kl->after - gain.kl->before,
                       gain.kl->change.low, gain.kl->change.high);
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

std::string label_of(const std::string& node, const NodeLabels& labels) {
  const auto found = labels.find(node);
  return found == labels.end() ? node : found->second;
}

std::string labels_text(const std::vector<std::string>& nodes, const NodeLabels& labels) {
  return joined(nodes, [&](const std::string& node) { return label_of(node, labels); });
}

// The precision of kept nodes: "float", or "8 bits".
std::string kept_text(const Sensitivity& sensitivity) {
  return sensitivity.kept_bits > 0 ? fmt::format("{} bits", sensitivity.kept_bits) : "float";
}

// The outputs' error after a change: KL if it was measured, else decibels.
std::string after_text(const MeasuredGain& gain) {
  return gain.kl ? kl_text(gain.kl->after) : format_decibels(gain.after_db);
}

Table nodes_table(const Sensitivity& sensitivity, int top) {
  Table table{.title = "Noise at the output: each node's quantizers alone, and all but them",
              .columns = {{"node", Align::left},
                          {"op", Align::left, 2},
                          {"noise alone"},
                          {"gain in float"},
                          {.title = "chain", .spare = 1}},
              .note = fmt::format("{} dB as in the file, on {}; shares need not add up to 100%",
                                  format_decibels(sensitivity.output_db),
                                  format_count(sensitivity.ranked, "sample"))};
  if (!sensitivity.outputs.empty())
    table.note +=
        fmt::format(", the mean of the outputs' noise; {}", worst_output_text(sensitivity.outputs));
  for (const NodeSensitivity& row : sensitivity.nodes) {
    if (std::ssize(table.rows) == top) break;
    table.rows.push_back({row.node, row.op.empty() ? "input" : row.op,
                          fmt::format("{:.1f}%", 100 * row.noise_share),
                          row.gain_db ? fmt::format("{:+.2f} dB", *row.gain_db) : "-",
                          row.chain > 0 ? fmt::format("{}", row.chain) : ""});
  }
  return table;
}

Table sets_table(const Sensitivity& sensitivity, const NodeLabels& labels) {
  Table table{.title = fmt::format("Kept in {} together", kept_text(sensitivity)),
              .columns = {{"nodes"},
                          {sensitivity.kl ? "KL, nats" : "output dB"},
                          {sensitivity.kl ? "change, 95%" : "gain, 95%", Align::left},
                          {"which", Align::left}},
              .note = fmt::format("measured on {} that they were not chosen on",
                                  format_count(sensitivity.held_out, "sample"))};
  if (!sensitivity.keep_in_float.empty())
    table.note += changes_text(sensitivity.keep_in_float.back().gain.outputs);
  for (const FloatSet& set : sensitivity.keep_in_float)
    table.rows.push_back({fmt::format("{}", set.nodes.size()), after_text(set.gain),
                          gain_text(set.gain), labels_text(set.nodes, labels)});
  return table;
}

Table remedies_table(const Sensitivity& sensitivity, int top) {
  Table table{.title = "Cheaper remedies, one at a time",
              .columns = {{"tensor", Align::left},
                          {"remedy", Align::left},
                          {sensitivity.kl ? "KL, nats" : "output dB"},
                          {sensitivity.kl ? "change, 95%" : "gain, 95%", Align::left}}};
  for (const QuantizerRemedy& remedy : sensitivity.remedies) {
    if (std::ssize(table.rows) == top) break;
    table.rows.push_back(
        {remedy.tensor, remedy_text(remedy), after_text(remedy.gain), gain_text(remedy.gain)});
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
  table.note =
      fmt::format("the answer changed in {} of the {} looked at", sensitivity.flips_changed,
                  format_count(sensitivity.flips_looked_at, "sample"));
  if (sensitivity.flips_given > sensitivity.flips_looked_at)
    table.note += fmt::format(", the first of {}", sensitivity.flips_given);
  if (sensitivity.flips_changed > std::ssize(sensitivity.flips))
    table.note += fmt::format("; the first {} are explained", sensitivity.flips.size());
  for (const Flip& flip : sensitivity.flips)
    table.rows.push_back(
        {fmt::format("{}", flip.sample), fmt::format("{}", flip.real),
         fmt::format("{}", flip.quantized), flip.label ? fmt::format("{}", *flip.label) : "",
         flip.nodes.empty() ? "none found" : fmt::format("{}", fmt::join(flip.nodes, ", "))});
  return table;
}

}  // namespace

std::string kl_text(const std::optional<double>& kl) {
  if (!kl) return "-";
  return *kl != 0 && std::abs(*kl) < 1e-3 ? fmt::format("{:.2g}", *kl) : fmt::format("{:.4f}", *kl);
}

std::string sensitivity_conclusion(const Sensitivity& sensitivity, const NodeLabels& labels) {
  std::string text;
  for (const FloatSet& set : sensitivity.keep_in_float) {
    const MeasuredGain& gain = set.gain;
    const ConfidenceInterval& interval = gain.kl ? gain.kl->change : gain.gain_db;
    const double half = (interval.high - interval.low) / 2;
    const std::string after = gain.kl
                                  ? fmt::format("{} (±{})", kl_text(gain.kl->after), kl_text(half))
                                  : fmt::format("{:.1f} dB (±{:.1f})", gain.after_db, half);
    const std::string before =
        gain.kl ? "KL " + kl_text(gain.kl->before) : fmt::format("{:.1f}", gain.before_db);
    text += text.empty()
                ? fmt::format("Keep {} in {}: {} -> {}",
                              set.nodes.size() == 1 ? label_of(set.nodes[0], labels)
                                                    : fmt::format("these {}", set.nodes.size()),
                              kept_text(sensitivity), before, after)
                : fmt::format("; these {}: {}", set.nodes.size(), after);
  }
  return text.empty() ? text : text + ".";
}

void describe_sensitivity(const Sensitivity& sensitivity, const NodeLabels& labels,
                          const std::string& keep_command, int top, std::vector<Block>& blocks) {
  const auto add = [&](Table table) {
    if (!table.rows.empty()) blocks.emplace_back(std::move(table));
  };
  // For a decoder, the table of its projections shows the same in KL.
  if (!sensitivity.kl || labels.empty()) add(nodes_table(sensitivity, top));
  add(sets_table(sensitivity, labels));
  const FloatSet* kept = set_to_keep(sensitivity);
  if (kept && sensitivity.kept_bits > 0)
    blocks.emplace_back(Code{fmt::format("--keep-8bit {}", fmt::join(kept->nodes, ","))});
  else if (kept && !keep_command.empty())
    blocks.emplace_back(Code{keep_command});
  add(remedies_table(sensitivity, top));
  add(flips_table(sensitivity));
}

}  // namespace vernier
