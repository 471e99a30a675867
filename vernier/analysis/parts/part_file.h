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

// What a part is of. Parts of one measurement have the same facts and samples.
struct PartHeader {
  std::string command;                 // "eval"
  std::vector<std::string> arguments;  // that say the same measurement, but for its part
  std::string folder;                  // that paths in these start from
  // What the numbers depend on: hashes of models and inputs, options, runtimes, the CPU.
  std::vector<std::pair<std::string, std::string>> facts;
  std::map<std::string, std::int64_t> samples;  // of each section, all parts together
  Shard shard;
  bool operator==(const PartHeader&) const = default;
};

// Names the first thing that differs: "not the same candidate"; empty: they are of one measurement.
std::string difference(const PartHeader& first, const PartHeader& second);

// A part as its file has it: a line that says what it is, a line of JSON, the header, and the
// records, each with a checksum; the last says that there are no more.
struct Part {
  PartHeader header;
  std::map<SampleRecords::Key, std::string_view> records;  // in the file
  std::shared_ptr<const MappedFile> file;
  bool complete = false;   // false: the file was cut off, or is still being written
  std::int64_t bytes = 0;  // of the file that are whole records
};

// Throws Error for what is no part, or one of another version.
Part read_part(const std::filesystem::path& path);

// Writes it under another name, and renames it when it is complete.
void write_part(const std::filesystem::path& path, const PartHeader& header,
                const SampleRecords& records);

// A part that grows on disk, record by record: whatever ends the program, what was kept is there.
// Nobody else can open it meanwhile.
class PartJournal {
 public:
  // Opens the part of this measurement in a folder, which is created, and adds what it holds to the
  // records, which tell it of new ones from then on. Throws Error where that cannot be done.
  PartJournal(const std::filesystem::path& folder, const PartHeader& header,
              SampleRecords& records);
  ~PartJournal();
  PartJournal(const PartJournal&) = delete;
  PartJournal& operator=(const PartJournal&) = delete;

  std::int64_t found() const { return found_; }  // records that were there
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
