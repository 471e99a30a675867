#include "vernier/analysis/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "vernier/analysis/inputs/inputs.h"
#include "vernier/error.h"
#include "vernier/runtime/stopping.h"
#include "vernier/tensor/name_pattern.h"
#include "vernier/tensor/npz.h"

namespace vernier {
namespace {

// The destination of a recording, written sample by sample.
class Recording {
 public:
  virtual ~Recording() = default;
  virtual void begin_sample(std::int64_t number) = 0;
  virtual void add(const std::string& name, const TensorView& tensor) = 0;
  virtual void end_sample() = 0;
  // Called after the last end_sample(): puts the file in place and returns what it holds.
  virtual RecordResult finish() = 0;
};

Shape shape_of(const TensorView& tensor) { return {tensor.shape.begin(), tensor.shape.end()}; }

class ArchiveRecording : public Recording {
 public:
  ArchiveRecording(const std::filesystem::path& path, std::int64_t samples,
                   const std::string& comment)
      : writer_(path), rows_(samples) {
    writer_.set_comment(comment);
  }

  void begin_sample(std::int64_t number) override { number_ = number; }

  void add(const std::string& name, const TensorView& tensor) override {
    if (refused_.contains(name)) return;
    auto kept = kept_.find(name);
    if (kept == kept_.end()) {
      if (result_.samples > 0) return leave_out(name, "not produced in the first sample");
      kept = kept_.emplace(name, Kept{tensor.dtype, shape_of(tensor)}).first;
      writer_.reserve(name, tensor.dtype, kept->second.shape, rows_);
      result_.tensors.push_back({name, tensor.dtype, kept->second.shape});
    }
    Kept& array = kept->second;
    if (tensor.dtype != array.dtype || !std::ranges::equal(tensor.shape, array.shape))
      return leave_out(name,
                       fmt::format("has shape {} in sample {}, {} in the first",
                                   format_shape(tensor.shape), number_, format_shape(array.shape)));
    writer_.append(name, tensor);
    ++array.rows;
  }

  void end_sample() override {
    ++result_.samples;
    std::vector<std::string> missing;
    for (const auto& [name, array] : kept_)
      if (array.rows < result_.samples) missing.push_back(name);
    std::ranges::sort(missing);
    for (const std::string& name : missing)
      leave_out(name, fmt::format("not produced in sample {}", number_));
  }

  RecordResult finish() override {
    if (result_.samples < rows_) {
      writer_.truncate(result_.samples);
      writer_.close_holes();
    }
    writer_.finish();
    return std::move(result_);
  }

 private:
  struct Kept {
    DType dtype = DType::f32;
    Shape shape;
    std::int64_t rows = 0;
  };

  void leave_out(const std::string& name, std::string reason) {
    if (kept_.erase(name)) writer_.drop(name);
    refused_.insert(name);
    std::erase_if(result_.tensors, [&](const auto& tensor) { return tensor.name == name; });
    result_.left_out.push_back({name, std::move(reason)});
  }

  NpzWriter writer_;
  std::int64_t rows_;
  std::int64_t number_ = 0;
  std::unordered_map<std::string, Kept> kept_;
  std::unordered_set<std::string> refused_;
  RecordResult result_;
};

class FolderRecording : public Recording {
 public:
  FolderRecording(const std::filesystem::path& folder, std::string comment)
      : folder_(folder), comment_(std::move(comment)) {
    std::filesystem::create_directories(folder);
  }

  void begin_sample(std::int64_t number) override {
    writer_.emplace(folder_ / fmt::format("{:06}.npz", number));
    writer_->set_comment(comment_);
  }

  void add(const std::string& name, const TensorView& tensor) override {
    writer_->add(name, tensor);
    if (seen_.insert(name).second)
      result_.tensors.push_back({name, tensor.dtype, shape_of(tensor)});
  }

  void end_sample() override {
    writer_->finish();
    writer_.reset();
    ++result_.samples;
  }

  RecordResult finish() override { return std::move(result_); }

 private:
  std::filesystem::path folder_;
  std::string comment_;
  std::optional<NpzWriter> writer_;
  std::unordered_set<std::string> seen_;
  RecordResult result_;
};

// An .npz whose arrays stack `samples` samples or, without that extension, a folder with one .npz
// for each sample; each file has the comment. Throws Error as require_recording() does.
std::unique_ptr<Recording> open_recording(const std::filesystem::path& output, std::int64_t samples,
                                          const std::string& comment) {
  require_recording(output);
  if (output.extension() == ".npz")
    return std::make_unique<ArchiveRecording>(output, samples, comment);
  return std::make_unique<FolderRecording>(output, comment);
}

class Recorder {
 public:
  Recorder(Samples& samples, Runner* runner, const RecordOptions& options)
      : samples_(samples),
        runner_(runner),
        selection_(options.tensors),
        recording_(open_recording(options.output, samples.size(),
                                  options.made_up ? synthetic_comment
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

void require_recording(const std::filesystem::path& output) {
  namespace fs = std::filesystem;
  const std::string extension = output.extension().string();
  const bool is_folder = fs::is_directory(output);
  if (extension == ".npz" && !is_folder) return;
  // "v1.5" may be a folder, "tensors.txt" was not meant to be one.
  const bool names_file =
      extension.size() > 1 && std::isalpha(static_cast<unsigned char>(extension[1]));
  if (!is_folder && (names_file || fs::exists(output)))
    throw Error(fmt::format("[record] {}: expected OUT.npz, or a folder", output.string()));
  if (is_folder && !fs::is_empty(output))
    throw Error(
        fmt::format("[record] {}: the folder is not empty; choose another", output.string()));
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
