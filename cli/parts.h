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

namespace vernier::cli {

// Of commands that can be measured in parts.
struct PartOptions {
  std::string shard;               // "3/16"; empty: all
  std::string checkpoint;          // a folder; empty: none
  std::vector<std::string> parts;  // that `vernier merge` makes the result of
  const CLI::App* command = nullptr;
};

// --shard --checkpoint
void add_part_options(CLI::App& command, PartOptions& options);
// --checkpoint alone, of what is no measurement of single samples.
void add_checkpoint_option(CLI::App& command, PartOptions& options);

// Throws Error where the options ask for parts: for what is measured in one piece alone.
void refuse_parts(const PartOptions& options);

// Whether a part that a command wrote may hold this argument.
bool is_part_argument(const std::string& argument);

// What a command is about to measure.
struct Measured {
  std::filesystem::path candidate, reference;    // may be empty
  std::string inputs;                            // their description
  Samples* samples = nullptr;                    // the first of which is looked at; may be null
  std::map<std::string, std::int64_t> sections;  // how many samples each has
};

// The records of a command that is measured in parts, as its options say: none, those of a
// checkpoint, those that are merged.
class MeasuredParts {
 public:
  // All three must outlive it. Throws Error where the options do not go together, or where parts
  // are not of this measurement.
  MeasuredParts(const PartOptions& options, const OutputOptions& output, const Measured& measured);

  SampleRecords* records() { return records_ ? &*records_ : nullptr; }
  // Whether there is nothing to judge, as only a part was measured.
  bool is_part() const { return records_ && records_->is_part(); }
  // Writes the part, and gives the exit code: that of an interruption where it is not complete.
  int write() const;

 private:
  void read_parts(const std::vector<std::string>& files);

  const OutputOptions& output_;
  PartHeader header_;
  std::optional<SampleRecords> records_;
  std::optional<PartJournal> journal_;
};

}  // namespace vernier::cli
