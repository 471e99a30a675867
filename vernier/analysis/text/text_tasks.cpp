#include "vernier/analysis/text/text_tasks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "vernier/analysis/inputs/bind_inputs.h"
#include "vernier/analysis/parts/record.h"
#include "vernier/analysis/text/text_answers.h"
#include "vernier/error.h"
#include "vernier/metrics/similarity.h"
#include "vernier/runtime/stopping.h"
#include "vernier/tensor/convert.h"
#include "vernier/tensor/rows.h"

namespace vernier {
namespace {

constexpr double most_increase = 0.01;  // of the pseudo-perplexity, relative to the reference's

using Role = EncoderInputs::Role;

// Texts that are also run alone, to see whether the batch changes their outputs.
constexpr std::size_t texts_run_alone = 4;

std::int64_t longest(std::span<const EncodedText> texts) {
  std::size_t most = 0;
  for (const EncodedText& text : texts) most = std::max(most, text.ids.size());
  return static_cast<std::int64_t>(most);
}

std::int64_t value_at(const EncodedText& text, Role role, std::int64_t place) {
  const bool padding = place >= std::ssize(text.ids);
  switch (role) {
    case Role::ids: return padding ? 0 : text.ids[place];
    case Role::kinds: return padding ? 0 : text.kinds[place];
    case Role::mask: return padding ? 0 : 1;
    case Role::positions: break;
  }
  return place;
}

// A row of each input for each text, padded to the longest text or to the model's fixed length.
std::vector<Tensor> text_inputs(std::span<const EncodedText> texts, const EncoderInputs& encoder,
                                const std::vector<TensorSpec>& inputs) {
  const std::int64_t length = encoder.length.value_or(longest(texts));
  std::vector<Tensor> result;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Tensor values = make_tensor(inputs[i].name, DType::i64, {std::ssize(texts), length});
    auto out = elements<std::int64_t>(values).begin();
    for (const EncodedText& text : texts)
      for (std::int64_t k = 0; k < length; ++k) *out++ = value_at(text, encoder.roles[i], k);
    if (inputs[i].dtype != DType::i64) values = convert(values, inputs[i].dtype);
    result.push_back(std::move(values));
  }
  return result;
}

// The row of one text in the output of a batch.
Tensor row_of_batch(const Tensor& output, std::size_t row, std::size_t rows) {
  if (output.shape.empty() || output.shape[0] != static_cast<std::int64_t>(rows))
    throw Error(fmt::format(
        "[text] output '{}' has shape {}, expected a row for each of {} texts; pass --batch 1",
        output.name, format_shape(output.shape), rows));
  Tensor part = copy(row_of(output, static_cast<std::int64_t>(row)));
  part.shape.insert(part.shape.begin(), 1);
  return part;
}

void require_any_batch(std::span<const TensorSpec> inputs, std::int64_t batch) {
  for (const TensorSpec& input : inputs)
    if (batch > 1 && !input.shape.empty() && !input.shape[0].is_dynamic())
      throw Error(fmt::format(
          "[text] --batch {}: input '{}' takes {} at once; export the model with a dynamic batch",
          batch, input.name, input.shape[0].size));
}

// SQNR of a text's output in a batch, without rows of padding, against its output alone; nullopt if
// the output is not float or has fewer elements in the batch.
std::optional<double> similarity_of(const Tensor& alone, const Tensor& batched) {
  if (!is_float(alone.dtype) || alone.bytes.size() > batched.bytes.size()) return std::nullopt;
  TensorView own = batched;
  own.shape = alone.shape;
  own.bytes = own.bytes.first(alone.bytes.size());
  return similarity(alone, own).sqnr_db;
}

// Runs texts through an encoder, up to `batch` in one run. Texts of different lengths are padded if
// the model takes a mask or fixes the length, and are run separately if not.
class TextRunner {
 public:
  // Throws Error if `batch` is above 1 and the model's batch size is fixed.
  TextRunner(Runner& runner, EncoderInputs encoder, std::int64_t batch)
      : runner_(runner), encoder_(std::move(encoder)), batch_(batch), inputs_(runner.inputs()) {
    require_any_batch(inputs_, batch_);
  }
  // Fed the inputs of another model, bound to its own by name.
  TextRunner(Runner& runner, const TextRunner& like)
      : runner_(runner),
        encoder_(like.encoder_),
        batch_(like.batch_),
        inputs_(like.inputs_),
        bindings_(bind_inputs(inputs_, runner.inputs())) {
    require_any_batch(runner.inputs(), batch_);
  }

  // Calls `visit` with the outputs of each text, in order: the text's own rows, then rows of
  // padding. Throws Error for an output without a row for each text.
  using VisitOutputs = std::function<void(std::vector<Tensor> outputs)>;
  void run(std::span<const EncodedText> texts, const VisitOutputs& visit) {
    while (!texts.empty()) {
      const std::size_t count = batch_at(texts);
      run_batch(texts.first(count), visit);
      texts = texts.subspan(count);
    }
  }

  // The lowest SQNR of the first texts in a batch against the same texts alone; nullopt if they are
  // run alone anyway.
  std::optional<double> similarity_alone(std::span<const EncodedText> texts) {
    texts = texts.first(batch_at(texts));
    if (texts.size() < 2) return std::nullopt;
    std::vector<std::vector<Tensor>> batched;
    run_batch(texts, [&](std::vector<Tensor> outputs) { batched.push_back(std::move(outputs)); });
    double worst = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < std::min(texts.size(), texts_run_alone); ++i)
      run_batch(texts.subspan(i, 1), [&](const std::vector<Tensor>& outputs) {
        for (std::size_t k = 0; k < std::min(outputs.size(), batched[i].size()); ++k)
          if (const auto found = similarity_of(outputs[k], batched[i][k]))
            worst = std::min(worst, *found);
      });
    return worst;
  }

  std::vector<Warning> warnings() const {
    return bindings_ ? bindings_->warnings : std::vector<Warning>();
  }

 private:
  // The number of texts in the next run.
  std::size_t batch_at(std::span<const EncodedText> texts) const {
    const bool pads = encoder_.length || std::ranges::count(encoder_.roles, Role::mask) > 0;
    const std::size_t most = std::min(texts.size(), static_cast<std::size_t>(batch_));
    std::size_t count = 1;
    while (count < most && (pads || texts[count].ids.size() == texts[0].ids.size())) ++count;
    return count;
  }

  void run_batch(std::span<const EncodedText> texts, const VisitOutputs& visit) {
    std::vector<Tensor> inputs = text_inputs(texts, encoder_, inputs_);
    if (bindings_) inputs = apply_bindings(*bindings_, runner_.inputs(), inputs);
    std::vector<Tensor> outputs = runner_.run(inputs);
    if (texts.size() == 1) return visit(std::move(outputs));
    for (std::size_t i = 0; i < texts.size(); ++i) {
      std::vector<Tensor> own;
      for (const Tensor& output : outputs) own.push_back(row_of_batch(output, i, texts.size()));
      visit(std::move(own));
    }
  }

  Runner& runner_;
  EncoderInputs encoder_;
  std::int64_t batch_ = 1;
  std::vector<TensorSpec> inputs_;  // the inputs that encoder_ describes
  std::optional<InputBindings> bindings_;
};

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

  std::vector<Warning> warnings() const {
    std::vector<Warning> warnings;
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
    options.limits = {
        {.metric = "pseudo_perplexity_delta",
         .fails = Limit::Fails::above,
         .value = most_increase * reference->metrics.at(0).of_all(reference->samples)}};
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
  std::vector<EncodedExample> examples;
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
  for (std::size_t i = 0; i < examples.size(); ++i)
    encoded.examples.push_back({examples[i], encoded.texts.texts.at(i),
                                seconds.empty() ? nullptr : &encoded.seconds.texts.at(i)});
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
      const std::int64_t count = std::min(options.batch, total - first);
      const auto group = examples.subspan(first, count);
      const AnswersOfBoth both =
          record ? from_record<AnswersOfBoth>(*record)
                 : run.answer(std::span(encoded.examples).subspan(first, count), i == 0);
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
  const std::vector<Warning> warnings = run.warnings();
  result.warnings.insert(result.warnings.begin(), warnings.begin(), warnings.end());
  result.interrupted = interrupted;
  if (interrupted)
    result.verdict = interrupted_verdict(std::move(result.verdict), run.answered(), total);
  return result;
}

}  // namespace vernier
