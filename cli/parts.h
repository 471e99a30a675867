#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/output.h"
#include "vernier/analysis/parts/part_file.h"
#include "vernier/data/samples.h"
#include "vernier/model/model.h"

namespace vernier::cli {

// Options of commands that can be measured in parts.
struct PartOptions {
  std::string shard;               // "3/16"; empty means all samples
  std::string checkpoint;          // a folder; empty means none
  std::vector<std::string> parts;  // the part files that `vernier merge` passes
  const CLI::App* command = nullptr;
};

// --shard --checkpoint
void add_part_options(CLI::App& command, PartOptions& options);
// --checkpoint only, for commands that do not measure sample by sample.
void add_checkpoint_option(CLI::App& command, PartOptions& options);

// Throws Error if the options ask for parts; for commands that cannot be split.
void refuse_parts(const PartOptions& options);

// Whether the header of a part file may contain this argument.
bool is_part_argument(const std::string& argument);

// What a command is about to measure.
struct Measured {
  std::filesystem::path candidate, reference;  // may be empty
  // The models of these files, unchanged; null if they are not loaded.
  const Model *candidate_model = nullptr, *reference_model = nullptr;
  std::string inputs;                            // description of the inputs
  Samples* samples = nullptr;                    // the first sample is hashed; may be null
  std::map<std::string, std::int64_t> sections;  // number of samples per section
};

// The sample records of a command: none, those of a shard or a checkpoint, or those of merged
// parts, depending on the options.
class MeasuredParts {
 public:
  // `output` must outlive it. Throws Error if the options conflict, or if parts belong to another
  // measurement.
  MeasuredParts(const PartOptions& options, const OutputOptions& output, const Measured& measured);

  SampleRecords* records() { return records_ ? &*records_ : nullptr; }
  // Whether only a part is measured, so that nothing can be judged.
  bool is_part() const { return records_ && records_->is_part(); }
  // Writes the part and returns exit_pass; if it is incomplete, writes nothing and returns
  // exit_interrupted.
  int write() const;

 private:
  void read_parts(const std::vector<std::string>& files);

  const OutputOptions& output_;
  PartHeader header_;
  std::optional<SampleRecords> records_;
  std::optional<PartJournal> journal_;
};

}  // namespace vernier::cli
