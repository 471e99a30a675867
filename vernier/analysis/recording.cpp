#include "vernier/analysis/recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "vernier/error.h"
#include "vernier/tensor/npz.h"

namespace vernier {
namespace {

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
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      if (entry.path().extension() == ".npz")
        throw Error(fmt::format("[record] {}: the folder holds .npz files already; choose another",
                                folder.string()));
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

}  // namespace

std::unique_ptr<Recording> open_recording(const std::filesystem::path& output, std::int64_t samples,
                                          const std::string& comment) {
  if (output.extension() == ".npz")
    return std::make_unique<ArchiveRecording>(output, samples, comment);
  return std::make_unique<FolderRecording>(output, comment);
}

}  // namespace vernier
