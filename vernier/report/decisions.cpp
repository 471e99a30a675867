#include "vernier/report/decisions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "vernier/report/number.h"

namespace vernier {

std::string interval_text(const ConfidenceInterval& interval) {
  if (std::isnan(interval.low)) return "[unknown]";
  return fmt::format("[{}, {}]", format_decibels(interval.low), format_decibels(interval.high));
}

std::string worst_output_text(const std::vector<OutputFigure>& figures) {
  const OutputFigure& worst = worst_of(figures);
  return fmt::format("{} {} {}, the worst of {}", worst.name, format_decibels(worst.sqnr_db),
                     interval_text(worst.interval), figures.size());
}

std::string changes_text(const std::vector<OutputChange>& outputs) {
  if (outputs.empty()) return "";
  const auto change_text = [](const OutputChange& output) {
    return fmt::format("{} {} -> {}", output.name, format_decibels(output.before_db),
                       format_decibels(output.after_db));
  };
  return fmt::format("; of the outputs: {} dB", joined(outputs, change_text));
}

Table decisions_table(std::span<const Decision> decisions, std::int64_t samples, int top) {
  Table table{.title = "Decisions",
              .columns = {{"choice", Align::left},
                          {"tensor", Align::left},
                          {"output dB"},
                          {"gain dB"},
                          {"95% of gain"},
                          {"kept", Align::left}}};
  const bool by_kl = std::ranges::any_of(
      decisions, [](const Decision& decision) { return decision.kl_mean.has_value(); });
  if (by_kl) table.columns[2] = {"KL, nats"};
  int refused = 0, left_out = 0;
  for (const Decision& decision : decisions) {
    if (!decision.kept && ++refused > top) {
      ++left_out;
      continue;
    }
    table.rows.push_back(
        {decision.choice, decision.subject.empty() ? Cell("all", Tone::faint) : decision.subject,
         decision.kl_mean ? format_significant(*decision.kl_mean)
                          : format_decibels(decision.sqnr_db),
         fmt::format("{:+.2f}", decision.gain.db), interval_text(decision.gain.interval),
         decision.kept ? Cell("yes", Tone::good) : Cell("no", Tone::faint)});
  }
  table.note = fmt::format(
      "on {} that calibration did not see; kept where all of the interval is above 0, ranges of "
      "all samples unless they lose",
      format_count(samples, "sample"));
  if (left_out > 0) table.note += fmt::format("; {} more were not kept", left_out);
  return table;
}

}  // namespace vernier
