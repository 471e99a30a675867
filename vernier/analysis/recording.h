#pragma once

#include <filesystem>
#include <memory>

#include "vernier/analysis/record.h"

namespace vernier {

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

// An .npz whose arrays stack `samples` samples or, with any other extension, a folder with one .npz
// for each sample; each file has the comment. Throws Error if the folder already holds .npz files.
std::unique_ptr<Recording> open_recording(const std::filesystem::path& output, std::int64_t samples,
                                          const std::string& comment);

}  // namespace vernier
