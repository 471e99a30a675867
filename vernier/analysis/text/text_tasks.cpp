#include "vernier/analysis/text/text_tasks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "vernier/analysis/parts/record.h"
#include "vernier/analysis/task/batch_dependence.h"
#include "vernier/analysis/text/text_answers.h"
#include "vernier/analysis/text/text_runner.h"
#include "vernier/error.h"
#include "vernier/runtime/stopping.h"

namespace vernier {
namespace {

constexpr double most_increase = 0.01;  // of the pseudo-perplexity, relative to the reference's

// The answers of both models: to the examples of one run, or to all so far.
struct AnswersOfBoth {
  TextAnswers reference, candidate;
  // Lowest SQNR of the candidate's first texts: in a batch against alone.
  std::optional<double> alone_db;
};

template <typename Archive>
void fields(Archive& archive, AnswersOfBoth& both) {
  archive(both.reference, both.candidate, both.alone_db);
}

// An example as tokens; `second` only for sentence-similarity.
struct EncodedExample {
  const TextExample& example;
  const EncodedText& text;
  const EncodedText* second = nullptr;
};

class TextTaskRun {
 public:
  TextTaskRun(const TextTaskModels& models, const TextTaskOptions& options,
              std::span<const TextExample> examples, std::optional<std::int64_t> mask)
      : options_(options),
        rules_{.task = options.task, .labels = options.labels},
        mask_(mask),
        candidate_runner_(models.candidate, models.inputs, options.batch) {
    rules_.has_unanswerable = std::ranges::any_of(
        examples, [](const TextExample& example) { return example.answers.empty(); });
    if (models.reference) reference_runner_.emplace(*models.reference, candidate_runner_);
  }

  std::vector<std::string> warnings() const {
    std::vector<std::string> warnings;
    if (reference_runner_) warnings = reference_runner_->warnings();
    if (alone_db_)
      if (auto warning = batch_dependence(*alone_db_)) warnings.push_back(std::move(*warning));
    return warnings;
  }

  AnswersOfBoth answer(std::span<const EncodedExample> examples, bool compare_alone) {
    AnswersOfBoth both;
    add(both.candidate, examples, candidate_runner_);
    if (reference_runner_) add(both.reference, examples, *reference_runner_);
    if (compare_alone) both.alone_db = candidate_runner_.similarity_alone(texts_of(examples));
    return both;
  }

  void add(std::span<const TextExample> examples, const AnswersOfBoth& both) {
    answered_.insert(answered_.end(), examples.begin(), examples.end());
    reference_ += both.reference;
    candidate_ += both.candidate;
    if (both.alone_db) alone_db_ = both.alone_db;
  }
  std::int64_t answered() const { return std::ssize(answered_); }

  TaskResult judge() {
    const std::array sides = {&std::as_const(candidate_), &std::as_const(reference_)};
    const std::vector<std::string> types = entity_types(sides);
    const Scores candidate = score_answers(candidate_, options_.task, answered_, types);
    if (!reference_runner_) return judge_scores(nullptr, candidate, judge_options(nullptr, types));
    const Scores reference = score_answers(reference_, options_.task, answered_, types);
    return judge_scores(&reference, candidate, judge_options(&reference, types));
  }

 private:
  // For fill-mask, repeats each text with one token masked, except those that the tokenizer added.
  std::vector<EncodedText> texts_of(std::span<const EncodedExample> examples) const {
    std::vector<EncodedText> texts;
    for (const EncodedExample& each : examples) {
      if (mask_) {
        const std::vector<EncodedText> masked = masked_texts(each.text);
        texts.insert(texts.end(), masked.begin(), masked.end());
        continue;
      }
      texts.push_back(each.text);
      if (each.second) texts.push_back(*each.second);
    }
    return texts;
  }

  std::vector<EncodedText> masked_texts(const EncodedText& text) const {
    std::vector<EncodedText> texts;
    for (std::size_t i = 0; i < text.ids.size(); ++i) {
      if (text.added[i]) continue;
      texts.push_back(text);
      texts.back().ids[i] = *mask_;
    }
    return texts;
  }

  void add(TextAnswers& answers, std::span<const EncodedExample> examples, TextRunner& runner) {
    if (mask_) {
      for (const EncodedExample& each : examples) add_masked(answers, each.text, runner);
      return;
    }
    const std::vector<EncodedText> texts = texts_of(examples);
    std::vector<std::vector<Tensor>> outputs;
    runner.run(texts, [&](std::vector<Tensor> found) { outputs.push_back(std::move(found)); });
    std::size_t next = 0;
    for (const EncodedExample& each : examples) {
      std::vector<AnsweredText> answered = {{texts[next], outputs[next]}};
      if (each.second) answered.push_back({texts[next + 1], outputs[next + 1]});
      add_answer(answers, rules_, each.example, answered);
      next += answered.size();
    }
  }

  void add_masked(TextAnswers& answers, const EncodedText& text, TextRunner& runner) const {
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < text.ids.size(); ++i)
      if (!text.added[i]) places.push_back(i);
    double nll = 0;
    auto place = places.begin();
    runner.run(masked_texts(text), [&](const std::vector<Tensor>& outputs) {
      nll += masked_nll({text, outputs}, *place++);
    });
    answers.masked.emplace_back(nll, std::ssize(places));
    answers.non_finite += !std::isfinite(nll);
  }

  JudgeOptions judge_options(const Scores* reference, std::span<const std::string> types) const {
    JudgeOptions options = options_.judge;
    if (options_.task == TextTask::text_classification) options.class_names = options_.labels;
    if (options_.task == TextTask::token_classification) {
      std::int64_t number = 0;
      for (const std::string& type : types) options.class_names[number++] = type;
    }
    // A lower perplexity is better; the default limit is 1 % above the reference's.
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

  const TextTaskOptions& options_;
  AnswerRules rules_;
  std::optional<std::int64_t> mask_;  // the mask token, for fill-mask
  TextRunner candidate_runner_;
  std::optional<TextRunner> reference_runner_;
  std::vector<TextExample> answered_;
  TextAnswers candidate_, reference_;
  std::optional<double> alone_db_;
};

// One text for each example, two for sentence-similarity.
struct EncodedExamples {
  EncodedTexts texts, seconds;

  std::vector<EncodedExample> group(std::span<const TextExample> examples,
                                    std::int64_t first) const {
    std::vector<EncodedExample> group;
    for (std::size_t i = 0; i < examples.size(); ++i) {
      const std::size_t at = static_cast<std::size_t>(first) + i;
      group.push_back({examples[i], texts.texts.at(at),
                       seconds.texts.empty() ? nullptr : &seconds.texts.at(at)});
    }
    return group;
  }
};

EncodedExamples encode(const TextTaskModels& models, const Tokenizer& tokenizer,
                       std::span<const TextExample> examples, const TextTaskOptions& options) {
  const std::int64_t most = models.inputs.length.value_or(options.most_tokens);
  std::vector<TextToEncode> texts, seconds;
  for (const TextExample& example : examples) {
    texts.push_back(example.text);
    if (options.task == TextTask::sentence_similarity) seconds.push_back(example.second);
  }
  EncodedExamples encoded{.texts = tokenizer.encode(texts, most)};
  if (!seconds.empty()) encoded.seconds = tokenizer.encode(seconds, most);
  if (options.task != TextTask::fill_mask)
    encoded.texts.mask.reset();
  else if (!encoded.texts.mask)
    throw Error(
        fmt::format("[text] {}: the tokenizer has no [MASK] or <mask>", tokenizer.path().string()));
  return encoded;
}

}  // namespace

std::int64_t text_task_runs(std::int64_t examples, std::int64_t batch) {
  return (examples + batch - 1) / batch;
}

TaskResult evaluate_text_task(const TextTaskModels& models, const Tokenizer& tokenizer,
                              std::span<const TextExample> examples,
                              const TextTaskOptions& options) {
  const EncodedExamples encoded = encode(models, tokenizer, examples, options);
  TextTaskRun run(models, options, examples, encoded.texts.mask);
  const std::int64_t total = std::ssize(examples);
  const std::int64_t runs = text_task_runs(total, options.batch);
  SampleRecords* records = options.records;
  bool go_on = !options.progress || options.progress(0, total);
  try {
    for (std::int64_t i = 0; i < runs && go_on; ++i) {
      const auto record = records ? records->find(text_task_section, i) : std::nullopt;
      if (!record && records && !records->runs(i, runs)) continue;  // measured elsewhere
      const std::int64_t first = i * options.batch;
      const auto group = examples.subspan(first, std::min(options.batch, total - first));
      const AnswersOfBoth both = record ? from_record<AnswersOfBoth>(*record)
                                        : run.answer(encoded.group(group, first), i == 0);
      if (!record && records) records->keep(text_task_section, i, to_record(both));
      run.add(group, both);
      if (options.progress) go_on = options.progress(first + std::ssize(group), total);
    }
  } catch (const Stopped&) {
    if (run.answered() == 0) throw;
    run_group()->resume();
  }
  const bool interrupted = run.answered() < total;
  if (records && records->is_part()) return {.interrupted = interrupted};
  if (run.answered() == 0) throw Error("[task] interrupted before there was anything to score");
  TaskResult result = run.judge();
  const std::vector<std::string> warnings = run.warnings();
  result.warnings.insert(result.warnings.begin(), warnings.begin(), warnings.end());
  result.interrupted = interrupted;
  if (interrupted)
    result.verdict = interrupted_verdict(std::move(result.verdict), run.answered(), total);
  return result;
}

}  // namespace vernier
