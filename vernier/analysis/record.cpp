#include "vernier/analysis/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "vernier/analysis/inputs/inputs.h"
#include "vernier/analysis/recording.h"
#include "vernier/error.h"
#include "vernier/runtime/stopping.h"
#include "vernier/tensor/name_pattern.h"

namespace vernier {
namespace {

class Recorder {
 public:
  Recorder(Samples& samples, Runner* runner, const RecordOptions& options)
      : samples_(samples),
        runner_(runner),
        selection_(options.tensors),
        recording_(open_recording(options.output, samples.size(),
                                  options.made_up ? made_up_comment
                                  : options.order ? format_order(*options.order)
                                                  : "")) {}

  void record_sample(std::int64_t index) {
    names_.clear();
    recording_->begin_sample(samples_.number(index));
    const std::vector<Tensor> inputs = samples_.sample(index);
    for (const Tensor& input : inputs)
      if (selection_.inputs || selection_.has_pattern_of(input.name)) add(input);
    if (selection_.needs_run()) run(samples_.number(index), inputs);
    if (selection_.labels) add_labels(index);
    if (names_.empty())
      throw Error(
          fmt::format("[record] sample {}: no tensor matches the selection; `vernier inspect "
                      "--tensors` lists them",
                      samples_.number(index)));
    recording_->end_sample();
  }

  RecordResult finish() { return recording_->finish(); }

 private:
  void run(std::int64_t number, const std::vector<Tensor>& inputs) {
    Observer observer;
    if (selection_.needs_intermediates())
      observer = [&](const TensorView& tensor) {
        if (selection_.intermediates || selection_.has_pattern_of(std::string(tensor.name)))
          add(tensor);
      };
    runner_->seek(number);
    const std::vector<Tensor> outputs = runner_->run(inputs, observer);
    for (const Tensor& output : outputs)
      if ((selection_.outputs || selection_.has_pattern_of(output.name)) &&
          !names_.contains(output.name))
        add(output);
  }

  void add_labels(std::int64_t index) {
    const auto labels = samples_.labels(index);
    if (!labels)
      throw Error("[record] --tensors labels: the samples have none; give a labelled --dataset");
    add(*labels);
  }

  void add(const TensorView& tensor) {
    std::string name(tensor.name);
    for (int repeat = 1; !names_.insert(name).second; ++repeat)
      name = fmt::format("{}_{}", tensor.name, repeat);
    recording_->add(name, tensor);
  }

  Samples& samples_;
  Runner* runner_;
  const TensorSelection& selection_;
  std::unique_ptr<Recording> recording_;
  std::unordered_set<std::string> names_;  // of this sample
};

}  // namespace

bool TensorSelection::has_pattern_of(const std::string& name) const {
  return matches_any_name(patterns, name);
}

TensorSelection parse_selection(std::span<const std::string> words) {
  TensorSelection selection;
  for (const std::string& word : words) {
    const bool all = word == "all";
    if (all || word == "inputs") selection.inputs = true;
    if (all || word == "outputs") selection.outputs = true;
    if (all || word == "leaves") selection.intermediates = true;
    if (word == "labels") selection.labels = true;
    constexpr std::string_view known[] = {"all", "inputs", "outputs", "leaves", "labels"};
    if (std::ranges::find(known, word) == std::end(known)) selection.patterns.push_back(word);
  }
  return selection;
}

RecordResult record(Samples& samples, Runner* runner, const RecordOptions& options) {
  Recorder recorder(samples, runner, options);
  bool go_on = !options.progress || options.progress(0, samples.size());
  std::int64_t done = 0;
  try {
    while (go_on && done < samples.size()) {
      recorder.record_sample(done);
      ++done;
      go_on = !options.progress || options.progress(done, samples.size());
    }
  } catch (const Stopped&) {
    if (done == 0) throw;
    run_group()->resume();
  }
  if (done == 0)
    throw Error(fmt::format("[record] {}: stopped before the first sample; nothing was written",
                            options.output.string()));
  RecordResult result = recorder.finish();
  result.interrupted = done < samples.size();
  return result;
}

}  // namespace vernier
