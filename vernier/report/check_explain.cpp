#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "vernier/analysis/check/finding_kinds.h"
#include "vernier/report/check.h"
#include "vernier/report/json.h"

namespace vernier {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view introduction =
    "# What `vernier check` finds\n\nEvery finding has an id, a severity, the node or tensor, one "
    "sentence of evidence and one of\nremedy. `--only ID` and `--disable ID` choose findings, "
    "`--explain ID` prints one of these\nentries. Errors fail the check; warnings do with "
    "`--strict`; notes never do.\n\nThis page is what `vernier check --explain all -f md` "
    "prints.\n";

std::string_view severity_of(const Explanation& entry) {
  return severity_name(finding_kind(entry.id).severity);
}

std::string_view group_of(const Explanation& entry) {
  return check_group_name(finding_kind(entry.id).group);
}

std::string entry_markdown(const Explanation& entry) {
  return fmt::format(
      "\n### {}\n\n**{}** ({})\n\n{}\n\n*Why it matters:* {}\n\n*How to fix it:* {}\n", entry.id,
      entry.title, severity_of(entry), entry.what, entry.why, entry.remedy);
}

Json entry_json(const Explanation& entry) {
  return {{"id", std::string(entry.id)},        {"group", group_of(entry)},
          {"severity", severity_of(entry)},     {"title", std::string(entry.title)},
          {"what", std::string(entry.what)},    {"why", std::string(entry.why)},
          {"remedy", std::string(entry.remedy)}};
}

}  // namespace

std::string explain_markdown(std::span<const Explanation> entries) {
  std::string text(introduction);
  std::string_view group;
  for (const Explanation& entry : entries) {
    if (group_of(entry) != group) {
      group = group_of(entry);
      text += fmt::format("\n## {}\n", group);
    }
    text += entry_markdown(entry);
  }
  return text;
}

Document describe_explanations(std::span<const Explanation> entries) {
  Document document;
  for (const Explanation& entry : entries)
    document.blocks.emplace_back(Panel{std::string(entry.id),
                                       {{std::string(severity_of(entry)), std::string(entry.title)},
                                        {"what it is", std::string(entry.what)},
                                        {"why it matters", std::string(entry.why)},
                                        {"how to fix it", std::string(entry.remedy)}}});
  return document;
}

std::string explain_json(std::span<const Explanation> entries) {
  Json json = json_header<Json>("check", {});
  json["explanations"] = json_list<Json>(entries, entry_json);
  return json_text(json);
}

}  // namespace vernier
