#include "vernier/analysis/task/evaluate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "vernier/analysis/inputs/bind_inputs.h"
#include "vernier/analysis/pairing/by_name.h"
#include "vernier/analysis/parts/record.h"
#include "vernier/analysis/task/predictions.h"
#include "vernier/error.h"
#include "vernier/metrics/similarity.h"
#include "vernier/runtime/stopping.h"
#include "vernier/tensor/rows.h"

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

// The index of the reference's output that the candidate's is paired with.
std::size_t counterpart_of(std::size_t output, const Runner& candidate, const Runner& reference) {
  const auto expected = names_of(reference.outputs()), found = names_of(candidate.outputs());
  for (const OutputPair& pair :
       pair_outputs(expected, found, reference.outputs_are_positional()).pairs)
    if (pair.candidate == output) return pair.reference;
  throw Error(fmt::format(
      "[task] the candidate's output {} has no counterpart: the reference has {}; choose an output "
      "of both with --output-name",
      found[output], fmt::join(expected, ", ")));
}

const Tensor& output_at(const std::vector<Tensor>& outputs, std::size_t place) {
  if (place >= outputs.size()) throw Error("[task] the model has no such output that is a tensor");
  return outputs[place];
}

// Examples that are also run alone, to see whether the batch changes their answers.
constexpr std::int64_t examples_run_alone = 4;

void compare_latest(BlockAnswers& block) {
  const auto before = block.reference.latest(), after = block.candidate.latest();
  const std::size_t common = std::min(before.size(), after.size());
  const std::size_t all = std::max(before.size(), after.size());
  block.compared += static_cast<std::int64_t>(all);
  block.changed += static_cast<std::int64_t>(all - common);
  for (std::size_t i = 0; i < common; ++i) block.changed += before[i] != after[i];
}

class TaskRun {
 public:
  TaskRun(const TaskModels& models, const EvaluateOptions& options, std::int64_t examples,
          std::size_t dataset_classes)
      : models_(models), options_(options), total_(examples), dataset_classes_(dataset_classes) {
    output_ = scored_output(models.candidate.outputs(), options.task.output);
    if (!models.reference) return;
    reference_output_ = counterpart_of(output_, models.candidate, *models.reference);
    bindings_ = bind_inputs(models.candidate.inputs(), models.reference->inputs());
    warnings_ = bindings_.warnings;
  }

  BlockAnswers answers(Loader& loader, const std::string& section) {
    BlockAnswers answers(options_.task);
    bool complete = true;
    try {
      for (std::int64_t number = 0, block = 0; block < loader.blocks() && !interrupted_; ++block) {
        const auto measured = answers_of_block(loader, section, block, number);
        complete &= measured.has_value();
        if (!measured) continue;
        if (measured->is_run) {
          if (++number == 1) note_batch_dependence(measured->alone_db);
          require_same_classes(*measured);
          answers.append(*measured);
        }
        done_ += measured->report.used;
        if (options_.progress) interrupted_ = !options_.progress(done_, total_) && done_ < total_;
      }
    } catch (const Stopped&) {
      if (answers.candidate.examples() == 0) throw;
      run_group()->resume();
      interrupted_ = true;
    }
    incomplete_ |= !complete;
    if (complete && !interrupted_) loader.finish();
    return answers;
  }

  const std::vector<Warning>& warnings() const { return warnings_; }
  TaskTimings& timings() { return timings_; }
  // By the user, or because examples were left to other parts.
  bool interrupted() const { return interrupted_ || incomplete_; }
  std::int64_t done() const { return done_; }
  std::int64_t total() const { return total_; }

 private:
  // The block's record, or a new measurement; nullopt if it is to be measured elsewhere. `number`
  // counts the blocks that were run.
  std::optional<BlockAnswers> answers_of_block(Loader& loader, const std::string& section,
                                               std::int64_t block, std::int64_t number) {
    SampleRecords* records = options_.records;
    if (const auto record = records ? records->find(section, block) : std::nullopt) {
      auto known = std::make_optional<BlockAnswers>(options_.task);
      RecordReader reader(*record);
      reader(*known);
      loader.skip_block(known->report);
      return known;
    }
    if (records && !records->runs(block, loader.blocks())) {
      loader.skip_block();
      return std::nullopt;
    }
    BlockAnswers answers(options_.task);
    std::optional<ExampleBlock> loaded =
        timed(timings_.waiting, [&] { return loader.next_block(); });
    if (!loaded) throw Error("[task] the dataset ended early; were examples removed meanwhile?");
    answers.report = std::move(loaded->report);
    if (loaded->batch) run(*loaded->batch, number, answers);
    if (records) records->keep(section, block, to_record(answers));
    return answers;
  }

  void run(const Batch& batch, std::int64_t number, BlockAnswers& answers) {
    answers.is_run = true;
    models_.candidate.seek(number);
    const std::span<const Tensor> inputs(&batch.input, 1);
    const auto candidate = timed(timings_.candidate, [&] { return models_.candidate.run(inputs); });
    const Tensor& output = output_at(candidate, output_);
    timed(timings_.scoring, [&] { add(answers.candidate, output, batch); });
    require_classes(answers.candidate);
    if (!std::exchange(batch_checked_, true)) answers.alone_db = similarity_alone(batch, output);
    if (!models_.reference) return;
    models_.reference->seek(number);
    const auto bound = apply_bindings(bindings_, models_.reference->inputs(), inputs);
    const auto reference = timed(timings_.reference, [&] { return models_.reference->run(bound); });
    timed(timings_.scoring,
          [&] { answers.reference.add(output_at(reference, reference_output_), batch); });
    require_same_classes(answers);
    compare_latest(answers);
  }

  // If the task cannot read the default output, the error lists the others.
  void add(Predictions& predictions, const Tensor& output, const Batch& batch) const {
    const std::vector<TensorSpec>& outputs = models_.candidate.outputs();
    try {
      predictions.add(output, batch);
    } catch (const Error& error) {
      if (outputs.size() < 2 || !options_.task.output.empty()) throw;
      throw Error(fmt::format("{}; the model has {}: choose one with --output-name", error.what(),
                              fmt::join(names_of(outputs), ", ")));
    }
  }

  // Also runs the first examples of a batch one by one, if the model takes any batch size.
  std::optional<double> similarity_alone(const Batch& batch, const Tensor& output) {
    const TensorSpec& input = models_.candidate.inputs().at(0);
    const auto examples = static_cast<std::int64_t>(batch.labels.size());
    if (examples < 2 || input.shape.empty() || !input.shape[0].is_dynamic()) return std::nullopt;
    double worst = std::numeric_limits<double>::infinity();
    for (std::int64_t i = 0; i < std::min(examples, examples_run_alone); ++i) {
      Tensor alone = copy(row_of(batch.input, i));
      alone.shape.insert(alone.shape.begin(), 1);
      const auto outputs = timed(timings_.candidate, [&] {
        return models_.candidate.run(std::span<const Tensor>(&alone, 1));
      });
      const TensorView single = output_at(outputs, output_), row = row_of(output, i);
      if (single.size() != row.size()) return std::nullopt;
      worst = std::min(worst, similarity(single, row).sqnr_db);
    }
    return worst;
  }

  // By the first batch, which is the bank's if there is a bank.
  void note_batch_dependence(const std::optional<double>& alone_db) {
    if (std::exchange(batch_noted_, true) || !alone_db) return;
    if (auto warning = batch_dependence(*alone_db)) warnings_.push_back(std::move(*warning));
  }

  void require_classes(const Predictions& answers) const {
    const bool classifies = options_.task.task == Task::image_classification;
    const auto expected = static_cast<std::int64_t>(dataset_classes_);
    if (classifies && expected > 0 && answers.width() > 0 && answers.width() != expected)
      throw Error(
          fmt::format("[task] the dataset has {} classes, the model {}; say which is which with "
                      "--label-mapping",
                      expected, answers.width()));
  }

  void require_same_classes(const BlockAnswers& answers) const {
    const std::int64_t reference = answers.reference.width(), candidate = answers.candidate.width();
    if (!models_.reference || options_.task.task != Task::image_classification ||
        reference == candidate)
      return;
    if (reference == 0 || candidate == 0)
      throw Error(
          "[task] one model answers with logits, the other with classes; choose outputs of one "
          "kind with --output-name");
    throw Error(
        fmt::format("[task] the reference has {} classes, the candidate {}; they are not the same "
                    "model, or --output-name has to say which output is scored",
                    reference, candidate));
  }

  const TaskModels& models_;
  const EvaluateOptions& options_;
  InputBindings bindings_;
  std::size_t output_ = 0;  // index of the candidate's output that is scored
  std::size_t reference_output_ = 0;
  bool batch_checked_ = false, batch_noted_ = false;
  std::vector<Warning> warnings_;
  TaskTimings timings_;
  std::int64_t total_;
  std::size_t dataset_classes_;  // that a classifier must have; 0: any number
  std::int64_t done_ = 0;
  bool interrupted_ = false, incomplete_ = false;
};

TaskResult score(BlockAnswers answers, std::optional<BlockAnswers> bank, bool has_reference,
                 const JudgeOptions& options) {
  const auto scores_of = [&](Predictions BlockAnswers::*side) {
    if (!bank) return std::move(answers.*side).score();
    const EmbeddingBank embeddings = std::move((*bank).*side).as_bank();
    return std::move(answers.*side).score(&embeddings);
  };
  Scores candidate = scores_of(&BlockAnswers::candidate);
  if (answers.compared > 0)
    candidate.changed_share =
        static_cast<double>(answers.changed) / static_cast<double>(answers.compared);
  if (!has_reference) return judge_scores(nullptr, candidate, options);
  const Scores reference = scores_of(&BlockAnswers::reference);
  return judge_scores(&reference, candidate, options);
}

void add_counts(TaskResult& result, const DatasetReport& data) {
  result.counts.emplace_back("unreadable_images", data.unreadable);
  result.counts.emplace_back("without_label", data.without_label);
  result.counts.emplace_back("unknown_labels", data.unknown_labels);
  result.counts.emplace_back("empty_classes", data.empty_classes.size());
}

// Warnings about examples that were left out and classes without a sample.
std::vector<Warning> data_warnings(const DatasetReport& examples, const DatasetReport& bank) {
  std::vector<Warning> warnings = dataset_warnings(bank);
  std::ranges::move(dataset_warnings(examples), std::back_inserter(warnings));
  if (const std::size_t empty = examples.empty_classes.size(); empty > 0)
    warnings.push_back({.kind = WarningKind::classes_left_out,
                        .subject = examples.empty_classes[0],
                        .value = static_cast<double>(empty)});
  return warnings;
}

// Recorded samples are identified by number alone, and `record` numbers every readable image.
void require_every_label(const DatasetReport& report, const std::filesystem::path& recording) {
  const std::int64_t left_out = report.without_label + report.unknown_labels;
  if (!recording.empty() && left_out > 0)
    throw Error(
        fmt::format("[task] {}: {} examples are left out for their labels, so recorded samples no "
                    "longer belong to the rest; give the model itself as --reference",
                    recording.string(), left_out));
}

}  // namespace

TaskResult evaluate(const TaskModels& models, const TaskExamples& examples,
                    const TaskExamples* bank, const EvaluateOptions& options) {
  const auto selected = [](const TaskExamples* some) {
    return some ? some->loader->report().selected : 0;
  };
  TaskRun run(models, options, selected(&examples) + selected(bank),
              examples.mapping.empty() ? examples.class_names.size() : 0);
  std::optional<BlockAnswers> bank_answers;
  if (bank) bank_answers = run.answers(*bank->loader, bank_section);
  BlockAnswers answers = run.answers(*examples.loader, examples_section);
  if (options.records && options.records->is_part()) return {.interrupted = run.interrupted()};
  if (run.interrupted() && answers.candidate.examples() == 0)
    throw Error("[task] interrupted before there was anything to score");
  const DatasetReport& report = examples.loader->report();
  require_every_label(report, models.recording);
  JudgeOptions judge = options.judge;
  judge.class_names = examples.class_names;
  const std::vector<std::int64_t> positions = std::move(answers.report.positions);
  TaskResult result = timed(run.timings().scoring, [&] {
    return score(std::move(answers), std::move(bank_answers), models.reference != nullptr, judge);
  });
  for (FlippedSample& flip : result.flipped) flip.sample = positions.at(flip.sample);
  add_counts(result, report);
  result.warnings.insert(result.warnings.begin(), run.warnings().begin(), run.warnings().end());
  std::ranges::move(data_warnings(report, bank ? bank->loader->report() : DatasetReport{}),
                    std::back_inserter(result.warnings));
  result.interrupted = run.interrupted();
  if (result.interrupted)
    result.verdict = interrupted_verdict(std::move(result.verdict), run.done(), run.total());
  result.timings = run.timings();
  return result;
}

}  // namespace vernier
