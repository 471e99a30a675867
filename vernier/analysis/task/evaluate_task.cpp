#include "vernier/analysis/task/evaluate_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "vernier/analysis/bind_inputs.h"
#include "vernier/error.h"

namespace vernier {
namespace {

// Adds the time that `work` takes to `seconds`.
template <typename Work>
auto timed(double& seconds, Work work) {
  struct Stopwatch {
    double& seconds;
    std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
    ~Stopwatch() {
      seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }
  } stopwatch{seconds};
  return work();
}

const Tensor& first_output(const std::vector<Tensor>& outputs) {
  if (outputs.empty()) throw Error("[task] the model has no output that is a tensor");
  return outputs.front();
}

// The output that stands for another model's.
const Tensor& output_like(const std::vector<Tensor>& outputs, const std::string& name) {
  const auto found = std::ranges::find(outputs, name, &Tensor::name);
  return found == outputs.end() ? first_output(outputs) : *found;
}

// What both models answered to the same examples.
struct Answers {
  Predictions reference;
  Predictions candidate;
  std::int64_t compared = 0;  // pixels or tokens
  std::int64_t changed = 0;

  void compare_latest() {
    const auto before = reference.latest(), after = candidate.latest();
    const std::size_t common = std::min(before.size(), after.size());
    const std::size_t all = std::max(before.size(), after.size());
    compared += static_cast<std::int64_t>(all);
    changed += static_cast<std::int64_t>(all - common);
    for (std::size_t i = 0; i < common; ++i) changed += before[i] != after[i];
  }
  std::optional<double> changed_share() const {
    if (compared == 0) return std::nullopt;
    return static_cast<double>(changed) / static_cast<double>(compared);
  }
};

class TaskRun {
 public:
  TaskRun(const TaskModels& models, const EvaluateTaskOptions& options, std::int64_t examples)
      : models_(models), options_(options), total_(examples) {
    if (models.reference)
      bindings_ = bind_inputs(models.candidate.inputs(), models.reference->inputs());
  }

  Answers answers(Loader& loader) {
    Answers answers{Predictions(options_.task), Predictions(options_.task)};
    for (std::int64_t number = 0; !interrupted_; ++number) {
      const auto batch = timed(timings_.waiting, [&] { return loader.next(); });
      if (!batch) break;
      run(*batch, number, answers);
      done_ += static_cast<std::int64_t>(batch->labels.size());
      if (options_.progress) interrupted_ = !options_.progress(done_, total_);
    }
    return answers;
  }

  const InputBindings& bindings() const { return bindings_; }
  TaskTimings& timings() { return timings_; }
  bool interrupted() const { return interrupted_; }

 private:
  void run(const Batch& batch, std::int64_t number, Answers& answers) {
    models_.candidate.seek(number);
    const std::span<const Tensor> inputs(&batch.input, 1);
    const auto candidate = timed(timings_.candidate, [&] { return models_.candidate.run(inputs); });
    const Tensor& output = first_output(candidate);
    timed(timings_.scoring, [&] { answers.candidate.add(output, batch); });
    require_classes(answers.candidate);
    if (!models_.reference) return;
    models_.reference->seek(number);
    const auto bound = apply_bindings(bindings_, models_.reference->inputs(), inputs);
    const auto reference = timed(timings_.reference, [&] { return models_.reference->run(bound); });
    timed(timings_.scoring,
          [&] { answers.reference.add(output_like(reference, output.name), batch); });
    require_same_classes(answers);
    answers.compare_latest();
  }

  void require_classes(const Predictions& answers) const {
    const bool classifies = options_.task.task == Task::image_classification;
    const auto expected = static_cast<std::int64_t>(options_.dataset_classes);
    if (classifies && expected > 0 && answers.width() != expected)
      throw Error(
          fmt::format("[task] the dataset has {} classes, the model {}; say which is which with "
                      "--label-mapping",
                      expected, answers.width()));
  }

  void require_same_classes(const Answers& answers) const {
    const bool classifies = options_.task.task == Task::image_classification;
    if (classifies && answers.reference.width() != answers.candidate.width())
      throw Error(fmt::format(
          "[task] the reference has {} classes, the candidate {}; they are not the same model",
          answers.reference.width(), answers.candidate.width()));
  }

  const TaskModels& models_;
  const EvaluateTaskOptions& options_;
  InputBindings bindings_;
  TaskTimings timings_;
  std::int64_t total_;
  std::int64_t done_ = 0;
  bool interrupted_ = false;
};

Evaluation score(Answers answers, std::optional<Answers> bank, bool has_reference,
                 const EvaluateOptions& options) {
  const auto scores_of = [&](Predictions Answers::*side) {
    if (!bank) return std::move(answers.*side).score();
    const EmbeddingBank embeddings = std::move((*bank).*side).as_bank();
    return std::move(answers.*side).score(&embeddings);
  };
  TaskScores candidate = scores_of(&Answers::candidate);
  candidate.changed_share = answers.changed_share();
  if (!has_reference) return evaluate(nullptr, candidate, options);
  const TaskScores reference = scores_of(&Answers::reference);
  return evaluate(&reference, candidate, options);
}

void add_counts(Evaluation& evaluation, const DatasetReport& data) {
  evaluation.counts.emplace_back("unreadable_images", data.unreadable);
  evaluation.counts.emplace_back("without_label", data.without_label);
  evaluation.counts.emplace_back("unknown_labels", data.unknown_labels);
  evaluation.counts.emplace_back("empty_classes", data.empty_classes.size());
}

}  // namespace

TaskEvaluation evaluate_task(const TaskModels& models, const TaskData& data,
                             const EvaluateTaskOptions& options) {
  TaskRun run(models, options,
              data.examples.report().selected + (data.bank ? data.bank->report().selected : 0));
  std::optional<Answers> bank;
  if (data.bank) bank = run.answers(*data.bank);
  Answers answers = run.answers(data.examples);
  if (run.interrupted() && answers.candidate.examples() == 0)
    throw Error("[task] interrupted before there was anything to score");
  TaskEvaluation result{.data = data.examples.report(), .interrupted = run.interrupted()};
  if (data.bank) result.bank = data.bank->report();
  result.evaluation = timed(run.timings().scoring, [&] {
    return score(std::move(answers), std::move(bank), models.reference != nullptr,
                 options.evaluate);
  });
  add_counts(result.evaluation, result.data);
  result.evaluation.warnings.insert(result.evaluation.warnings.begin(),
                                    run.bindings().warnings.begin(), run.bindings().warnings.end());
  result.timings = run.timings();
  return result;
}

}  // namespace vernier
