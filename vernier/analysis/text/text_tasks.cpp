#include "vernier/analysis/text/text_tasks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "vernier/analysis/bind_inputs.h"
#include "vernier/analysis/parts/record.h"
#include "vernier/error.h"
#include "vernier/metrics/answers.h"
#include "vernier/metrics/entities.h"
#include "vernier/metrics/rank_correlation.h"
#include "vernier/metrics/token_scores.h"
#include "vernier/tensor/convert.h"

namespace vernier {

template <typename Archive>
void fields(Archive& archive, EntityCounts& counts) {
  archive(counts.right, counts.predicted, counts.expected);
}

template <typename Archive>
void fields(Archive& archive, TaggedWords& tagged) {
  std::vector<std::pair<std::string, EntityCounts>> types(tagged.types.begin(), tagged.types.end());
  archive(types, tagged.right, tagged.words);
  tagged.types = {types.begin(), types.end()};
}

template <typename Archive>
void fields(Archive& archive, AnswerScore& score) {
  archive(score.exact_match, score.f1);
}

namespace {

constexpr std::int64_t longest_answer = 30;
constexpr std::size_t tried_starts = 20;
constexpr double most_increase = 0.01;  // of a pseudo-perplexity

// The inputs of one text, padded where the model fixes its length.
std::vector<Tensor> text_inputs(const EncodedText& text, const EncoderInputs& encoder,
                                const std::vector<TensorSpec>& inputs) {
  using Role = EncoderInputs::Role;
  const std::int64_t tokens = std::ssize(text.ids);
  const std::int64_t length = encoder.length.value_or(tokens);
  std::vector<Tensor> result;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Tensor values = make_tensor(inputs[i].name, DType::i64, {1, length});
    const auto out = elements<std::int64_t>(values);
    for (std::int64_t k = 0; k < length; ++k) {
      const bool padding = k >= tokens;
      switch (encoder.roles[i]) {
        case Role::ids: out[k] = padding ? 0 : text.ids[k]; break;
        case Role::kinds: out[k] = padding ? 0 : text.kinds[k]; break;
        case Role::mask: out[k] = padding ? 0 : 1; break;
        case Role::positions: out[k] = k;
      }
    }
    if (inputs[i].dtype != DType::i64) values = convert(values, inputs[i].dtype);
    result.push_back(std::move(values));
  }
  return result;
}

// One model's answers, example by example.
struct TextAnswers {
  std::vector<std::vector<float>> logits;  // of classes
  std::vector<TaggedWords> tagged;
  std::vector<AnswerScore> answers;
  std::vector<std::pair<double, std::int64_t>> masked;  // negative log-likelihood, tokens
  std::vector<double> cosines;
  std::int64_t non_finite = 0;

  TextAnswers& operator+=(const TextAnswers& more) {
    const auto append = [](auto& values, const auto& others) {
      values.insert(values.end(), others.begin(), others.end());
    };
    append(logits, more.logits);
    append(tagged, more.tagged);
    append(answers, more.answers);
    append(masked, more.masked);
    append(cosines, more.cosines);
    non_finite += more.non_finite;
    return *this;
  }
};

template <typename Archive>
void fields(Archive& archive, TextAnswers& answers) {
  archive(answers.logits, answers.tagged, answers.answers, answers.masked, answers.cosines,
          answers.non_finite);
}

// Of one example, or of all so far.
struct AnswersOfBoth {
  TextAnswers reference, candidate;
};

template <typename Archive>
void fields(Archive& archive, AnswersOfBoth& both) {
  archive(both.reference, both.candidate);
}

const Tensor& output_of_rank(const std::vector<Tensor>& outputs, std::size_t rank,
                             std::string_view what) {
  for (const Tensor& output : outputs)
    if (is_float(output.dtype) && output.shape.size() == rank) return output;
  throw Error(
      fmt::format("[text] no output of {} axes, which {} would have; the first has shape {}", rank,
                  what, outputs.empty() ? "none" : format_shape(outputs[0].shape)));
}

std::vector<float> row_of(const Tensor& tensor, std::int64_t row) {
  std::vector<float> values(static_cast<std::size_t>(tensor.shape.back()));
  widen(tensor, row * tensor.shape.back(), values);
  return values;
}

bool are_finite(std::span<const float> values) {
  return std::ranges::all_of(values, [](float value) { return std::isfinite(value); });
}

class TextTaskRun {
 public:
  TextTaskRun(const TextTaskModels& models, const TextTaskOptions& options,
              std::span<const TextExample> examples)
      : models_(models), options_(options) {
    has_unanswerable_ = std::ranges::any_of(
        examples, [](const TextExample& example) { return example.answers.empty(); });
    if (models.reference)
      bindings_ = bind_inputs(models.candidate.inputs(), models.reference->inputs());
  }

  const InputBindings& bindings() const { return bindings_; }

  AnswersOfBoth answer(const TextExample& example, const EncodedText& text,
                       const EncodedText* second, std::optional<std::int64_t> mask) {
    AnswersOfBoth both;
    const auto candidate = [&](const EncodedText& some) {
      return models_.candidate.run(text_inputs(some, models_.inputs, models_.candidate.inputs()));
    };
    add(both.candidate, example, text, second, mask, candidate);
    if (!models_.reference) return both;
    const auto reference = [&](const EncodedText& some) {
      const auto inputs = text_inputs(some, models_.inputs, models_.candidate.inputs());
      return models_.reference->run(apply_bindings(bindings_, models_.reference->inputs(), inputs));
    };
    add(both.reference, example, text, second, mask, reference);
    return both;
  }

  void add(const TextExample& example, const AnswersOfBoth& both) {
    answered_.push_back(example);
    reference_ += both.reference;
    candidate_ += both.candidate;
  }
  std::int64_t answered() const { return std::ssize(answered_); }

  TaskResult judge() {
    const Scores candidate = scores_of(candidate_, answered_);
    if (!models_.reference) return judge_scores(nullptr, candidate, judge_options(nullptr));
    const Scores reference = scores_of(reference_, answered_);
    return judge_scores(&reference, candidate, judge_options(&reference));
  }

 private:
  template <typename Run>
  void add(TextAnswers& answers, const TextExample& example, const EncodedText& text,
           const EncodedText* second, std::optional<std::int64_t> mask, const Run& run) {
    switch (options_.task) {
      case TextTask::text_classification: {
        const std::vector<Tensor> outputs = run(text);
        answers.logits.push_back(row_of(output_of_rank(outputs, 2, "a classifier"), 0));
        answers.non_finite += !are_finite(answers.logits.back());
        return;
      }
      case TextTask::token_classification: return add_tags(answers, example, text, run(text));
      case TextTask::question_answering: return add_answer(answers, example, text, run(text));
      case TextTask::fill_mask: return add_masked(answers, text, *mask, run);
      case TextTask::sentence_similarity: break;
    }
    const std::vector<float> first = embedding(text, run(text)),
                             other = embedding(*second, run(*second));
    double products = 0, squares = 0, other_squares = 0;
    for (std::size_t i = 0; i < std::min(first.size(), other.size()); ++i) {
      products += double(first[i]) * other[i];
      squares += double(first[i]) * first[i];
      other_squares += double(other[i]) * other[i];
    }
    answers.cosines.push_back(products / std::sqrt(squares * other_squares));
    answers.non_finite += !std::isfinite(answers.cosines.back());
  }

  std::string label_name(std::int64_t label) const {
    const auto found = options_.labels.find(label);
    return found == options_.labels.end() ? fmt::format("LABEL_{}", label) : found->second;
  }

  // Of the first token of each word. Words that were cut off are left out.
  void add_tags(TextAnswers& answers, const TextExample& example, const EncodedText& text,
                const std::vector<Tensor>& outputs) const {
    const Tensor& logits = output_of_rank(outputs, 3, "scores of each token");
    std::vector<std::string> expected, found;
    std::int64_t last = -1;
    for (std::int64_t i = 0; i < std::ssize(text.ids); ++i) {
      const std::int64_t word = text.word[i];
      if (text.added[i] || word < 0 || word == last) continue;
      last = word;
      const std::vector<float> row = row_of(logits, i);
      answers.non_finite += !are_finite(row);
      expected.push_back(example.tags.at(static_cast<std::size_t>(word)));
      found.push_back(label_name(std::ranges::max_element(row) - row.begin()));
    }
    answers.tagged.push_back(compare_tags(expected, found));
  }

  // Scores of where the answer begins and ends: two outputs, or two columns of one.
  static std::pair<std::vector<float>, std::vector<float>> span_scores(
      const std::vector<Tensor>& outputs) {
    std::vector<const Tensor*> rows;
    for (const Tensor& output : outputs)
      if (is_float(output.dtype) && output.shape.size() == 2) rows.push_back(&output);
    if (rows.size() >= 2) return {to_f32(*rows[0]), to_f32(*rows[1])};
    const Tensor& both = output_of_rank(outputs, 3, "scores of where answers begin and end");
    if (both.shape.back() != 2)
      throw Error(
          fmt::format("[text] '{}': shape {}; expected 2 columns, of where answers begin "
                      "and end",
                      both.name, format_shape(both.shape)));
    const std::vector<float> values = to_f32(both);
    std::pair<std::vector<float>, std::vector<float>> scores;
    for (std::size_t i = 0; i + 1 < values.size(); i += 2) {
      scores.first.push_back(values[i]);
      scores.second.push_back(values[i + 1]);
    }
    return scores;
  }

  void add_answer(TextAnswers& answers, const TextExample& example, const EncodedText& text,
                  const std::vector<Tensor>& outputs) const {
    const auto [begins, ends] = span_scores(outputs);
    answers.non_finite += !are_finite(begins) || !are_finite(ends);
    std::vector<std::size_t> starts;
    for (std::size_t i = 0; i < std::min(text.ids.size(), begins.size()); ++i)
      if (text.text[i] == 1 && !text.added[i]) starts.push_back(i);
    const std::set<std::size_t> context(starts.begin(), starts.end());
    std::ranges::stable_sort(starts, std::greater(), [&](std::size_t i) { return begins[i]; });
    starts.resize(std::min(starts.size(), tried_starts));
    double most = -INFINITY;
    std::pair<std::size_t, std::size_t> best;
    for (const std::size_t first : starts)
      for (std::size_t last = first;
           last < std::min(ends.size(), first + static_cast<std::size_t>(longest_answer)); ++last) {
        const double score = double(begins[first]) + ends[last];
        if (!context.contains(last) || !(score > most)) continue;
        most = score;
        best = {first, last};
      }
    std::string answer;
    // Where there are questions without an answer, the first token stands for none.
    const bool none = has_unanswerable_ && !begins.empty() && double(begins[0]) + ends[0] > most;
    if (std::isfinite(most) && !none)
      answer = example.text.pair.substr(
          static_cast<std::size_t>(text.begin[best.first]),
          static_cast<std::size_t>(text.end[best.second] - text.begin[best.first]));
    answers.answers.push_back(score_answer(answer, example.answers));
  }

  // Each token that the tokenizer did not add is masked alone.
  template <typename Run>
  static void add_masked(TextAnswers& answers, const EncodedText& text, std::int64_t mask,
                         const Run& run) {
    double nll = 0;
    std::int64_t count = 0;
    for (std::size_t i = 0; i < text.ids.size(); ++i) {
      if (text.added[i]) continue;
      EncodedText masked = text;
      masked.ids[i] = mask;
      const std::vector<Tensor> outputs = run(masked);
      const Tensor& logits = output_of_rank(outputs, 3, "scores of each token");
      nll += token_nll(row_of(logits, static_cast<std::int64_t>(i)), text.ids[i]);
      ++count;
    }
    answers.masked.emplace_back(nll, count);
    answers.non_finite += !std::isfinite(nll);
  }

  // The mean of the vectors of its tokens, padding left out; or the model's own, where it has one
  // for the whole text.
  static std::vector<float> embedding(const EncodedText& text, const std::vector<Tensor>& outputs) {
    const auto of_tokens = std::ranges::find_if(outputs, [](const Tensor& output) {
      return is_float(output.dtype) && output.shape.size() == 3;
    });
    if (of_tokens == outputs.end()) return row_of(output_of_rank(outputs, 2, "an embedding"), 0);
    std::vector<double> sum(static_cast<std::size_t>(of_tokens->shape.back()));
    for (std::int64_t i = 0; i < std::ssize(text.ids); ++i) {
      const std::vector<float> row = row_of(*of_tokens, i);
      for (std::size_t k = 0; k < row.size(); ++k) sum[k] += row[k];
    }
    std::vector<float> mean;
    for (const double each : sum)
      mean.push_back(static_cast<float>(each / static_cast<double>(text.ids.size())));
    return mean;
  }

  template <typename Value, typename Metric>
  static Statistic mean_of(std::vector<Value> values, Metric metric) {
    return [values = std::move(values), metric](std::span<const std::int64_t> samples) {
      double sum = 0;
      for (const std::int64_t sample : samples) sum += metric(values[sample]);
      return samples.empty() ? NAN : sum / static_cast<double>(samples.size());
    };
  }

  Scores scores_of(const TextAnswers& answers, std::span<const TextExample> examples) const {
    switch (options_.task) {
      case TextTask::text_classification: return class_scores(answers, examples);
      case TextTask::token_classification: return tag_scores(answers);
      default: break;
    }
    Scores scores{.non_finite = answers.non_finite};
    if (options_.task == TextTask::question_answering) {
      scores.samples = std::ssize(answers.answers);
      scores.metrics.push_back(
          {"exact_match",
           mean_of(answers.answers, [](const AnswerScore& each) { return 100 * each.exact_match; }),
           {}});
      scores.metrics.push_back(
          {"f1",
           mean_of(answers.answers, [](const AnswerScore& each) { return 100 * each.f1; }),
           {}});
    } else if (options_.task == TextTask::fill_mask) {
      scores.samples = std::ssize(answers.masked);
      const auto nll = [masked = answers.masked](std::span<const std::int64_t> samples) {
        double sum = 0;
        std::int64_t tokens = 0;
        for (const std::int64_t sample : samples) {
          sum += masked[sample].first;
          tokens += masked[sample].second;
        }
        return tokens > 0 ? sum / static_cast<double>(tokens) : NAN;
      };
      scores.metrics.push_back(
          {"pseudo_perplexity",
           [nll](std::span<const std::int64_t> samples) { return std::exp(nll(samples)); },
           {}});
      scores.metrics.push_back({"nll", nll, {}});
    } else {
      scores.samples = std::ssize(answers.cosines);
      std::vector<double> gold;
      for (const TextExample& example : examples) gold.push_back(example.score);
      scores.metrics.push_back(
          {"cosine_spearman",
           [gold, cosines = answers.cosines](std::span<const std::int64_t> samples) {
             std::vector<double> wanted, found;
             for (const std::int64_t sample : samples) {
               wanted.push_back(gold[sample]);
               found.push_back(cosines[sample]);
             }
             return 100 * spearman(wanted, found);
           },
           {}});
    }
    return scores;
  }

  static Scores class_scores(const TextAnswers& answers, std::span<const TextExample> examples) {
    const auto classes = static_cast<std::int64_t>(answers.logits.at(0).size());
    Tensor logits = make_tensor("logits", DType::f32, {std::ssize(answers.logits), classes});
    auto out = elements<float>(logits).begin();
    for (const std::vector<float>& row : answers.logits) out = std::ranges::copy(row, out).out;
    std::vector<std::int64_t> labels;
    for (const TextExample& example : examples) labels.push_back(example.label);
    labels.resize(answers.logits.size());
    Scores scores = score_classification(logits, std::move(labels), 1);
    scores.metrics.at(0).name = "accuracy";
    std::erase_if(scores.warnings, [](const std::string& warning) {
      return warning.starts_with("top1_accuracy says nothing");
    });
    return scores;
  }

  // Of either model, in the order of their names: what their numbers stand for.
  std::vector<std::string> entity_types() const {
    std::set<std::string> types;
    for (const TextAnswers* side : {&candidate_, &reference_})
      for (const TaggedWords& each : side->tagged)
        for (const auto& [type, counts] : each.types) types.insert(type);
    return {types.begin(), types.end()};
  }

  Scores tag_scores(const TextAnswers& answers) const {
    Scores scores{.samples = std::ssize(answers.tagged), .class_metric = "f1"};
    const auto metric = [&](const char* name, double (EntityCounts::*value)() const) {
      scores.metrics.push_back(
          {name,
           [tagged = answers.tagged, value](std::span<const std::int64_t> samples) {
             EntityCounts sum;
             for (const std::int64_t sample : samples) sum += tagged[sample].all();
             return (sum.*value)();
           },
           {}});
    };
    metric("overall_precision", &EntityCounts::precision);
    metric("overall_recall", &EntityCounts::recall);
    metric("overall_f1", &EntityCounts::f1);
    scores.metrics.push_back({"overall_accuracy",
                              [tagged = answers.tagged](std::span<const std::int64_t> samples) {
                                double right = 0, words = 0;
                                for (const std::int64_t sample : samples) {
                                  right += static_cast<double>(tagged[sample].right);
                                  words += static_cast<double>(tagged[sample].words);
                                }
                                return words > 0 ? 100 * right / words : NAN;
                              },
                              {}});
    TaggedWords total;
    for (const TaggedWords& each : answers.tagged) total += each;
    std::int64_t number = 0;
    for (const std::string& type : entity_types())
      scores.classes.push_back({number++, total.types[type].expected, total.types[type].f1()});
    scores.non_finite = answers.non_finite;
    return scores;
  }

  JudgeOptions judge_options(const Scores* reference) const {
    JudgeOptions options = options_.judge;
    if (options_.task == TextTask::text_classification) options.class_names = options_.labels;
    if (options_.task == TextTask::token_classification) {
      std::int64_t number = 0;
      for (const std::string& type : entity_types()) options.class_names[number++] = type;
    }
    // A lower perplexity is better: within 1 % of the reference's, unless there are limits.
    if (options_.task != TextTask::fill_mask || !reference) return options;
    options.verdict = std::numeric_limits<double>::max();
    if (!options.limits.empty()) return options;
    std::vector<std::int64_t> all(static_cast<std::size_t>(reference->samples));
    std::iota(all.begin(), all.end(), 0);
    options.limits = {{.metric = "pseudo_perplexity_delta",
                       .fails = Limit::Fails::above,
                       .value = most_increase * reference->metrics.at(0).of_samples(all)}};
    return options;
  }

  const TextTaskModels& models_;
  const TextTaskOptions& options_;
  InputBindings bindings_;
  bool has_unanswerable_ = false;
  std::vector<TextExample> answered_;
  TextAnswers candidate_, reference_;
};

}  // namespace

TaskResult evaluate_text_task(const TextTaskModels& models, const Tokenizer& tokenizer,
                              std::span<const TextExample> examples,
                              const TextTaskOptions& options) {
  const std::int64_t most = models.inputs.length.value_or(options.most_tokens);
  std::vector<TextToEncode> texts, seconds;
  for (const TextExample& example : examples) {
    texts.push_back(example.text);
    if (options.task == TextTask::sentence_similarity) seconds.push_back(example.second);
  }
  const EncodedTexts encoded = tokenizer.encode(texts, most);
  const EncodedTexts others = seconds.empty() ? EncodedTexts{} : tokenizer.encode(seconds, most);
  if (options.task == TextTask::fill_mask && !encoded.mask)
    throw Error(
        fmt::format("[text] {}: the tokenizer has no [MASK] or <mask>", tokenizer.path().string()));
  TextTaskRun run(models, options, examples);
  const auto total = std::ssize(examples);
  SampleRecords* records = options.records;
  bool go_on = !options.progress || options.progress(0, total);
  for (std::int64_t i = 0; i < total && go_on; ++i) {
    const auto record = records ? records->find(text_task_section, i) : std::nullopt;
    if (!record && records && !records->runs(i, total)) continue;  // somebody else does
    const AnswersOfBoth both =
        record ? from_record<AnswersOfBoth>(*record)
               : run.answer(examples[i], encoded.texts.at(i),
                            seconds.empty() ? nullptr : &others.texts.at(i), encoded.mask);
    if (!record && records) records->keep(text_task_section, i, to_record(both));
    run.add(examples[i], both);
    if (options.progress) go_on = options.progress(i + 1, total);
  }
  const bool interrupted = run.answered() < total;
  if (records && records->is_part()) return {.interrupted = interrupted};
  if (run.answered() == 0) throw Error("[task] interrupted before there was anything to score");
  TaskResult result = run.judge();
  const auto& warnings = run.bindings().warnings;
  result.warnings.insert(result.warnings.begin(), warnings.begin(), warnings.end());
  result.interrupted = interrupted;
  if (interrupted)
    result.verdict = interrupted_verdict(std::move(result.verdict), run.answered(), total);
  return result;
}

}  // namespace vernier
