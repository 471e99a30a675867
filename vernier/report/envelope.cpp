#include "vernier/report/envelope.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

namespace vernier {
namespace {

std::string fact_text(const RunDescription::Fact& fact) {
  struct {
    std::string operator()(const std::string& text) const { return text; }
    std::string operator()(bool flag) const { return flag ? "yes" : "no"; }
    std::string operator()(std::int64_t count) const { return std::to_string(count); }
    std::string operator()(double value) const { return fmt::format("{:g}", value); }
    std::string operator()(const std::vector<std::string>& texts) const {
      return fmt::format("{}", fmt::join(texts, ", "));
    }
  } text;
  return std::visit(text, fact);
}

Panel run_panel(const Envelope& envelope) {
  const RunDescription& run = envelope.run;
  Panel panel;
  const auto add = [&](std::string name, const std::string& value) {
    std::ranges::replace(name, '_', ' ');
    if (!value.empty()) panel.facts.emplace_back(name, value);
  };
  const bool has_both = !run.candidate.empty() && !run.precision.empty();
  add("candidate", has_both ? fmt::format("{} ({})", run.candidate, run.precision) : run.candidate);
  add("reference", run.reference);
  add("task", run.task);
  add("device", run.device);
  const bool has_inputs = !run.inputs.empty() && run.samples;
  add(run.samples ? "samples" : "inputs", has_inputs
                                              ? fmt::format("{} ({})", *run.samples, run.inputs)
                                          : run.samples ? std::to_string(*run.samples)
                                                        : run.inputs);
  for (const auto& [name, fact] : run.settings) add(name, fact_text(fact));
  if (envelope.verdict)
    add("fails if", fmt::format("{}", fmt::join(format_limits(envelope.verdict->limits), ", ")));
  return panel;
}

}  // namespace

Document report_document(const Envelope& envelope, std::vector<Block> result) {
  Document document;
  const auto say = [&](const std::string& text, Tone tone) {
    document.blocks.push_back(Paragraph{Cell(text, tone)});
  };
  document.blocks.emplace_back(run_panel(envelope));
  std::ranges::move(result, std::back_inserter(document.blocks));
  for (const std::string& warning : envelope.warnings) say("warning: " + warning, Tone::fair);
  if (envelope.run.interrupted) say("interrupted: the samples so far", Tone::fair);
  if (envelope.verdict) document.blocks.emplace_back(verdict_paragraph(*envelope.verdict));
  return document;
}

std::vector<std::pair<std::string, RunDescription::Fact>> run_facts(const RunDescription& run) {
  std::vector<std::pair<std::string, RunDescription::Fact>> facts;
  for (const auto& [name, value] :
       {std::pair("candidate", &run.candidate), std::pair("reference", &run.reference),
        std::pair("task", &run.task), std::pair("precision", &run.precision),
        std::pair("device", &run.device), std::pair("inputs", &run.inputs)})
    if (!value->empty()) facts.emplace_back(name, *value);
  if (run.samples) facts.emplace_back("samples", *run.samples);
  facts.insert(facts.end(), run.settings.begin(), run.settings.end());
  return facts;
}

}  // namespace vernier
