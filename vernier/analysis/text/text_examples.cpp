#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "vernier/analysis/text/text_tasks.h"
#include "vernier/error.h"
#include "vernier/json.h"
#include "vernier/model/input_uses.h"
#include "vernier/tensor/inflate_limit.h"
#include "vernier/tensor/parse_number.h"

namespace vernier {
namespace {

using Json = nlohmann::ordered_json;
using Columns = std::vector<std::string>;

constexpr std::array<std::string_view, 5> names = {"text-classification", "token-classification",
                                                   "question-answering", "fill-mask",
                                                   "sentence-similarity"};
// A shorter table holds token types.
constexpr std::int64_t least_table = 8;

// The usual column names: of a text, or of two.
const std::vector<std::pair<std::string, std::string>> usual_texts = {{"text", ""},
                                                                      {"sentence1", "sentence2"},
                                                                      {"premise", "hypothesis"},
                                                                      {"question1", "question2"},
                                                                      {"question", "sentence"},
                                                                      {"sentence", ""},
                                                                      {"content", ""},
                                                                      {"review", ""}};

// A number in digits alone; nullopt for other texts, and for numbers above 64 bits.
std::optional<std::int64_t> whole_number(const std::string& digits) {
  return digits.starts_with('-') ? std::nullopt : parse_number<std::int64_t>(digits);
}

class RowReader {
 public:
  RowReader(TextTask task, const TextColumns& columns,
            const std::map<std::int64_t, std::string>& labels)
      : task_(task), columns_(columns), labels_(labels) {}

  TextExample read(const std::string& text, std::size_t number) {
    row_ = parse_json<Json>(text);
    number_ = number;
    switch (task_) {
      case TextTask::text_classification: {
        TextExample example{.text = pair_of_texts()};
        example.label = label(column("label", {"label", "labels", "class", "intent"}));
        return example;
      }
      case TextTask::token_classification: return tagged_words();
      case TextTask::question_answering: return question();
      case TextTask::fill_mask: {
        TextExample example{.text = pair_of_texts()};
        example.text.pair.clear();
        return example;
      }
      case TextTask::sentence_similarity: break;
    }
    TextExample example{
        .text = {.text = string_of("text", {"sentence1", "text1", "premise"})},
        .second = {.text = string_of("pair", {"sentence2", "text2", "hypothesis"})}};
    example.score =
        number_of(column("label", {"score", "similarity_score", "similarity", "label"}));
    return example;
  }

 private:
  [[noreturn]] void fail(const std::string& expected) const {
    std::vector<std::string> found;
    for (const auto& [name, value] : row_.items()) found.push_back(name);
    throw Error(
        fmt::format("[dataset] row {}: expected {}, found columns {}; name them by --text-column, "
                    "--pair-column and --column label=NAME",
                    number_, expected, fmt::join(found, ", ")));
  }

  const Json& column(const std::string& role, const Columns& usual) const {
    const auto given = columns_.find(role);
    const Columns candidates = given == columns_.end() ? usual : Columns{given->second};
    for (const std::string& name : candidates)
      if (const auto found = row_.find(name); found != row_.end() && !found->is_null())
        return *found;
    fail(fmt::format("{} in a column {}", role, fmt::join(candidates, " or ")));
  }

  std::string string_of(const std::string& role, const Columns& usual) const {
    const Json& value = column(role, usual);
    if (!value.is_string()) fail(fmt::format("a text for {}", role));
    return value.get<std::string>();
  }

  TextToEncode pair_of_texts() const {
    if (columns_.contains("text"))
      return {.text = string_of("text", {}),
              .pair = columns_.contains("pair") ? string_of("pair", {}) : std::string()};
    for (const auto& [first, second] : usual_texts)
      if (row_.contains(first) && (second.empty() || row_.contains(second)))
        return {.text = string_of("text", {first}),
                .pair = second.empty() ? std::string() : string_of("pair", {second})};
    fail("a text in a column text or sentence, or two in sentence1 and sentence2");
  }

  double number_of(const Json& value) const {
    if (value.is_number()) return value.get<double>();
    if (value.is_string()) {
      const std::string text = value.get<std::string>();
      char* end = nullptr;
      const double number = std::strtod(text.c_str(), &end);
      if (!text.empty() && end == text.c_str() + text.size()) return number;
    }
    fail("a number as label");
  }

  std::int64_t label(const Json& value) const {
    if (value.is_number_integer()) return value.get<std::int64_t>();
    if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
    if (!value.is_string()) fail("a label that is a number or a name");
    const std::string name = value.get<std::string>();
    for (const auto& [number, known] : labels_)
      if (known == name) return number;
    if (const auto number = whole_number(name)) return *number;
    std::vector<std::string> known;
    for (const auto& [number, text] : labels_) known.push_back(text);
    throw Error(fmt::format(
        "[dataset] row {}: label '{}' has no number: id2label of the config.json beside the model "
        "{}",
        number_, name,
        known.empty() ? "is missing" : fmt::format("names {}", fmt::join(known, ", "))));
  }

  TextExample tagged_words() const {
    TextExample example;
    const Json& words = column("text", {"tokens", "words"});
    const Json& tags = column("label", {"ner_tags", "tags", "labels", "pos_tags"});
    if (!words.is_array() || !tags.is_array() || words.size() != tags.size())
      fail("lists of as many words as tags");
    for (const Json& word : words) {
      if (!word.is_string()) fail("words that are texts");
      example.text.words.push_back(word.get<std::string>());
    }
    for (const Json& tag : tags) {
      if (tag.is_string()) {
        example.tags.push_back(tag.get<std::string>());
        continue;
      }
      const auto name = labels_.find(tag.is_number_integer() ? tag.get<std::int64_t>() : -1);
      if (name == labels_.end())
        fail("tags that are names, or numbers that the config.json beside the model names");
      example.tags.push_back(name->second);
    }
    return example;
  }

  TextExample question() const {
    TextExample example{
        .text = {.text = string_of("text", {"question"}), .pair = string_of("pair", {"context"})}};
    add_answers(column("label", {"answers", "answer"}), example.answers);
    return example;
  }

  // Answers are a text, an object with such answers as "text", or a list of these; null is none.
  void add_answers(const Json& json, std::vector<std::string>& answers) const {
    if (json.is_string())
      answers.push_back(json.get<std::string>());
    else if (json.is_array())
      for (const Json& each : json) add_answers(each, answers);
    else if (json.is_object() && json.contains("text"))
      add_answers(json["text"], answers);
    else if (!json.is_null())
      fail("answers that are texts, or objects with a text");
  }

  TextTask task_;
  const TextColumns& columns_;
  const std::map<std::int64_t, std::string>& labels_;
  Json row_;
  std::size_t number_ = 0;
};

}  // namespace

std::optional<TextTask> parse_text_task(std::string_view name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<TextTask>(found - names.begin());
}

std::span<const std::string_view> text_task_names() { return names; }

TaskMetrics text_task_metrics(TextTask task) {
  switch (task) {
    case TextTask::text_classification: return {{"accuracy"}, "accuracy"};
    case TextTask::token_classification:
      return {{"overall_precision", "overall_recall", "overall_f1", "overall_accuracy"}, "f1"};
    case TextTask::question_answering: return {{"exact_match", "f1"}, ""};
    case TextTask::fill_mask: return {{"pseudo_perplexity", "nll"}, ""};
    default: return {{"cosine_spearman"}, ""};
  }
}

std::map<std::int64_t, std::string> read_label_names(
    std::span<const std::filesystem::path> beside) {
  std::map<std::int64_t, std::string> labels;
  for (const std::filesystem::path& path : beside) {
    const std::filesystem::path config_file =
        (std::filesystem::is_directory(path) ? path : path.parent_path()) / "config.json";
    require_file("[model]", config_file);
    std::ifstream file(config_file);
    if (!file) continue;
    const Json config = try_parse_json<Json>(std::string{std::istreambuf_iterator<char>(file), {}});
    if (!config.is_object() || !config.contains("id2label") || !config["id2label"].is_object())
      continue;
    for (const auto& [number, name] : config["id2label"].items())
      if (const auto label = whole_number(number); label && name.is_string())
        labels[*label] = name.get<std::string>();
    if (!labels.empty()) return labels;
  }
  return labels;
}

std::vector<TextExample> read_examples(TextTask task, std::span<const std::string> rows,
                                       const TextColumns& columns,
                                       const std::map<std::int64_t, std::string>& labels) {
  RowReader reader(task, columns, labels);
  std::vector<TextExample> examples;
  for (std::size_t i = 0; i < rows.size(); ++i) examples.push_back(reader.read(rows[i], i));
  if (examples.empty()) throw Error("[dataset] there are no rows");
  return examples;
}

EncoderInputs find_encoder_inputs(const Model& model) {
  using Role = EncoderInputs::Role;
  const std::vector<TensorSpec> inputs = model.inputs();
  const std::vector<InputUses> uses = input_uses(model);
  const auto uses_of = [&](const TensorSpec& input) { return uses[&input - inputs.data()]; };
  const auto table = [&](const TensorSpec& input) {
    return uses_of(input).index_length.value_or(0);
  };
  const auto longest = std::ranges::max_element(inputs, {}, table);
  if (longest == inputs.end() || table(*longest) < least_table || !is_integer(longest->dtype))
    throw Error(fmt::format(
        "[text] {}: no integer input is looked up in a table of tokens, so no text can be fed",
        model.name()));
  EncoderInputs result;
  for (const TensorSpec& input : inputs) {
    if (&input == &*longest)
      result.roles.push_back(Role::ids);
    else if (table(input) > 0 && table(input) < least_table)
      result.roles.push_back(Role::kinds);
    else if (!uses_of(input).mask && table(input) >= least_table)
      result.roles.push_back(Role::positions);
    else
      result.roles.push_back(Role::mask);
  }
  if (!longest->shape.empty() && !longest->shape.back().is_dynamic())
    result.length = longest->shape.back().size;
  return result;
}

}  // namespace vernier
