#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "vernier/runtime/runner.h"
#include "vernier/tensor/sample_archive.h"

namespace vernier {

struct RecordedOptions {
  std::vector<std::string> outputs;  // names of the arrays that run() returns; empty means all
};

// Replays tensors that were recorded by any framework: an .npz whose leading axis is the samples,
// or a folder with one .npz per sample. run() ignores its inputs and returns the next sample; the
// observer is shown every array, in file order.
class RecordedRunner : public Runner {
 public:
  explicit RecordedRunner(const std::filesystem::path& path, const RecordedOptions& options = {});

  const std::vector<TensorSpec>& inputs() const override { return inputs_; }
  const std::vector<TensorSpec>& outputs() const override { return outputs_; }
  std::vector<Tensor> run(std::span<const Tensor> inputs = {},
                          const Observer& observer = {}) override;

  std::vector<WatchedTensor> watched() const override;
  void seek(std::int64_t sample) override { next_ = sample; }
  std::int64_t size() const { return size_; }

 private:
  SampleArchive archive_;
  std::vector<TensorSpec> inputs_;
  std::vector<TensorSpec> outputs_;
  std::int64_t size_ = 0;
  std::int64_t next_ = 0;
};

}  // namespace vernier
