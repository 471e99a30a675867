#include "vernier/report/text_generation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "vernier/report/json.h"
#include "vernier/report/number.h"
#include "vernier/report/verdict.h"
#include "vernier/report/warning.h"

namespace vernier {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::size_t most_characters = 60;  // shown of a passage in a table

std::string interval_text(const std::optional<ConfidenceInterval>& interval) {
  return interval ? fmt::format("[{}, {}]", format_significant(interval->low),
                                format_significant(interval->high))
                  : "-";
}

// The text on one line; a long text is cut to its end (`keep_end`) or its start, at whole UTF-8
// characters.
std::string one_line(std::string text, bool keep_end) {
  std::ranges::replace(text, '\n', ' ');
  std::vector<std::size_t> starts;
  for (std::size_t i = 0; i < text.size(); ++i)
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) starts.push_back(i);
  if (starts.size() <= most_characters) return text;
  if (keep_end) return "…" + text.substr(starts[starts.size() - most_characters + 1]);
  return text.substr(0, starts[most_characters - 1]) + "…";
}

bool has_reference(const TextGenerationResult& result) { return result.compared > 0; }

Table figure_table(const TextGenerationResult& result) {
  const bool both = has_reference(result);
  Table table{.columns = {{"metric", Align::left}, {"candidate"}}};
  if (both) table.columns.push_back({"reference"});
  table.columns.push_back({both ? "95% (nll: of the change)" : "95%"});
  for (const TextFigure& figure : result.figures) {
    std::vector<Cell> row = {figure.name, format_significant(figure.candidate)};
    if (both) row.push_back(cell_of(figure.reference, format_significant));
    row.emplace_back(interval_text(figure.interval));
    table.rows.push_back(std::move(row));
  }
  table.note = fmt::format("nats; {} scored in {} of up to {}; intervals: bootstrap of segments",
                           format_count(result.scored, "token"),
                           format_count(result.blocks, "block"), result.block_length);
  return table;
}

std::string disagreement_text(const TextGenerationResult& result) {
  std::string text = fmt::format("the best token differs in {} of {}", result.disagreements,
                                 format_count(result.compared, "place"));
  if (!result.near_ties) return text + "; the reference's rounding was not measured";
  return text + fmt::format(
                    "; in {} of them the reference's own margin is within its rounding ({:.2g} of "
                    "a logit)",
                    *result.near_ties, *result.rounding);
}

// Empty if this CPU computes what the file says.
std::string arithmetic_text(const TextGenerationResult& result) {
  const auto& arithmetic = result.arithmetic;
  if (!arithmetic || !arithmetic->is_lossy()) return "";
  return fmt::format(
      "in exact arithmetic the mean KL of the first {} is {}, here {}: the rest is lost in this "
      "CPU's integer kernels, which saturate without VNNI; --exact scores what the file says",
      format_count(arithmetic->tokens, "token"), format_significant(arithmetic->exact_kl_mean),
      format_significant(arithmetic->kl_mean));
}

Table worst_table(const TextGenerationResult& result, const TextPassages& passages) {
  Table table{.title = "Where predictions differ",
              .columns = {{"KL"},
                          {"block"},
                          {"token"},
                          {"after", Align::left},
                          {"reference", Align::left},
                          {"candidate", Align::left}}};
  for (std::size_t i = 0; i < result.worst.size(); ++i) {
    const WorstToken& token = result.worst[i];
    const TextPassage& passage = passages.worst[i];
    table.rows.push_back({format_significant(token.kl), std::to_string(token.block),
                          std::to_string(token.position), one_line(passage.before, true),
                          one_line(passage.reference, false), one_line(passage.candidate, false)});
  }
  return table;
}

std::string step_text(const Divergence& divergence) {
  if (!divergence.step) return "-";
  return std::to_string(*divergence.step) + (divergence.near_tie ? " (a tie)" : "");
}

Table divergence_table(const TextGenerationResult& result, const TextPassages& passages) {
  Table table{.title = "How they go on, each with its own best tokens",
              .columns = {{"block"}, {"differs at"}, {"", Align::left}, {"text", Align::left}}};
  for (std::size_t i = 0; i < result.divergences.size(); ++i) {
    const Divergence& divergence = result.divergences[i];
    const TextPassage& passage = passages.divergences[i];
    table.rows.push_back({std::to_string(divergence.block), step_text(divergence), "prompt",
                          one_line(passage.before, true)});
    table.rows.push_back({"", "", "reference", one_line(passage.reference, false)});
    if (divergence.step)
      table.rows.push_back({"", "", "candidate", one_line(passage.candidate, false)});
  }
  return table;
}

}  // namespace

std::vector<std::string> token_lists(std::span<const std::vector<std::int64_t>> lists) {
  std::vector<std::string> texts;
  for (const auto& ids : lists) texts.push_back(fmt::format("[{}]", fmt::join(ids, " ")));
  return texts;
}

TextPassages text_passages(const TextGenerationResult& result, const DecodeTokens& decode) {
  std::vector<std::vector<std::int64_t>> lists;
  for (const WorstToken& token : result.worst)
    lists.insert(lists.end(), {token.context, {token.reference_best}, {token.candidate_best}});
  for (const Divergence& divergence : result.divergences)
    lists.insert(lists.end(), {divergence.prompt, divergence.reference, divergence.candidate});
  const std::vector<std::string> texts = decode(lists);
  TextPassages passages;
  for (std::size_t i = 0; i + 2 < texts.size(); i += 3)
    (i / 3 < result.worst.size() ? passages.worst : passages.divergences)
        .push_back({texts[i], texts[i + 1], texts[i + 2]});
  return passages;
}

Document describe_text(const RunDescription& run, const TextGenerationResult& result,
                       const TextPassages& passages) {
  std::vector<Block> blocks = {figure_table(result)};
  if (has_reference(result)) blocks.emplace_back(Paragraph{disagreement_text(result)});
  if (std::string text = arithmetic_text(result); !text.empty())
    blocks.emplace_back(Paragraph{std::move(text)});
  if (!result.worst.empty()) blocks.emplace_back(worst_table(result, passages));
  if (!result.divergences.empty()) blocks.emplace_back(divergence_table(result, passages));
  return report_document({run, cache_fault_texts(result.cache_faults), &result.verdict},
                         std::move(blocks));
}

std::string text_json(const RunDescription& run, const TextGenerationResult& result,
                      const TextPassages& passages) {
  Json json = report_json<Json>({run, {}, &result.verdict});
  json["num_blocks"] = result.blocks;
  json["seqlen"] = result.block_length;
  json["num_scored_positions"] = result.scored;
  json["num_compared_positions"] = result.compared;
  json["metrics"] = json_list<Json>(result.figures, [&](const TextFigure& figure) {
    return Json{{"name", figure.name},
                {"candidate", json_number(figure.candidate)},
                {"reference", optional_json(figure.reference)},
                {"interval", optional_json(figure.interval)}};
  });
  json["disagreements"] = result.disagreements;
  json["near_ties"] = optional_json(result.near_ties);
  json["rounding"] = optional_json(result.rounding);
  if (const auto& arithmetic = result.arithmetic)
    json["arithmetic"] = {{"kl_mean", json_number(arithmetic->kl_mean)},
                          {"exact_kl_mean", json_number(arithmetic->exact_kl_mean)},
                          {"tokens", arithmetic->tokens}};
  json["worst"] = Json::array();
  for (std::size_t i = 0; i < result.worst.size(); ++i) {
    const WorstToken& token = result.worst[i];
    json["worst"].push_back({{"block", token.block},
                             {"position", token.position},
                             {"kl", json_number(token.kl)},
                             {"context", passages.worst[i].before},
                             {"reference", passages.worst[i].reference},
                             {"candidate", passages.worst[i].candidate}});
  }
  json["kl_behind_cache"] = optional_json(result.kl_behind_cache);
  json["cache_faults"] = cache_fault_texts(result.cache_faults);
  json["divergences"] = Json::array();
  for (std::size_t i = 0; i < result.divergences.size(); ++i) {
    const Divergence& divergence = result.divergences[i];
    json["divergences"].push_back({{"block", divergence.block},
                                   {"step", optional_json(divergence.step)},
                                   {"near_tie", divergence.near_tie},
                                   {"prompt", passages.divergences[i].before},
                                   {"reference", passages.divergences[i].reference},
                                   {"candidate", passages.divergences[i].candidate}});
  }
  return json_text(json);
}

}  // namespace vernier
