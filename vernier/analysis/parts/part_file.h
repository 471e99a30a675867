#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vernier/analysis/parts/records.h"

namespace vernier {

inline constexpr int part_version = 4;
inline constexpr const char* part_ending = ".vpart";

// What a part belongs to. Parts of one measurement have the same facts and samples.
struct PartHeader {
  std::string command;                 // "eval"
  std::vector<std::string> arguments;  // of the measurement, without those that choose its part
  std::string folder;                  // that paths in the arguments start from
  // What the numbers depend on: hashes of models and inputs, options, runtimes, the CPU.
  std::vector<std::pair<std::string, std::string>> facts;
  std::map<std::string, std::int64_t> samples;  // in each section, of all parts together
  Shard shard;
  bool operator==(const PartHeader&) const = default;
};

// The first difference, such as "not the same candidate"; empty if they are of one measurement.
std::string difference(const PartHeader& first, const PartHeader& second);

// The contents of a part's file: a line with format and version, a line with the header as JSON,
// and the records, each with a checksum. The last record marks the end.
struct Part {
  PartHeader header;
  std::map<SampleRecords::Key, std::string_view> records;  // views into `file`
  std::shared_ptr<const MappedFile> file;
  bool complete = false;   // false if the file was cut off, or is still being written
  std::int64_t bytes = 0;  // of the header and all whole records
};

// Throws Error for a file that is not a part, or is one of another version.
Part read_part(const std::filesystem::path& path);

// Writes the part under another name, and renames it when it is complete.
void write_part(const std::filesystem::path& path, const PartHeader& header,
                const SampleRecords& records);

// A part that grows on disk, record by record: the records that were kept survive any end of the
// program. The file is locked against other runs.
class PartJournal {
 public:
  // Opens the part of this measurement in a folder, which is created if necessary. Adds its records
  // to `records`, and appends every new one from then on. Throws Error if the file cannot be
  // written, is in use, or is of another measurement.
  PartJournal(const std::filesystem::path& folder, const PartHeader& header,
              SampleRecords& records);
  ~PartJournal();
  PartJournal(const PartJournal&) = delete;
  PartJournal& operator=(const PartJournal&) = delete;

  std::int64_t found() const { return found_; }  // records that the file held already
  const std::filesystem::path& path() const { return path_; }

 private:
  void append(const std::string& bytes);
  void lock() const;
  bool has_header() const;

  std::filesystem::path path_;
  SampleRecords& records_;
  int descriptor_ = -1;
  std::int64_t found_ = 0;
};

}  // namespace vernier
