#pragma once

#include <filesystem>
#include <memory>

#include "vernier/analysis/record.h"

namespace vernier {

// Where a recording goes, sample by sample.
class Recording {
 public:
  virtual ~Recording() = default;
  virtual void begin_sample(std::int64_t number) = 0;
  virtual void add(const std::string& name, const TensorView& tensor) = 0;
  virtual void end_sample() = 0;
  // After the last sample that was ended: puts the file in place, and says what is in it.
  virtual RecordResult finish() = 0;
};

// An .npz whose arrays stack `samples` samples, or with any other ending a folder of .npz files,
// one a sample, each with the comment. Throws Error if the folder already holds some.
std::unique_ptr<Recording> open_recording(const std::filesystem::path& output, std::int64_t samples,
                                          const std::string& comment);

}  // namespace vernier
