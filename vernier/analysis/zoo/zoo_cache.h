#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "vernier/analysis/zoo/zoo.h"
#include "vernier/analysis/zoo/zoo_file.h"

namespace vernier {

// What a row's result depends on, by name: contents of models and data, options, versions, the CPU.
using ZooFacts = std::vector<std::pair<std::string, std::string>>;

// How a row is measured, as far as that can be known before.
struct ZooPlan {
  ZooFacts facts;
  std::string key;                  // of all facts
  bool known = true;                // false: a model is code, whose content nobody can tell
  std::filesystem::path candidate;  // where it is made; empty: it is there
};

// Contents of files are read once.
class ZooPlanner {
 public:
  explicit ZooPlanner(std::filesystem::path cache);
  // Paths start from the working folder. Throws Error where a model cannot be read.
  ZooPlan plan(const ZooEntry& entry);

 private:
  std::string content(const std::filesystem::path& path);
  void add_model(const std::string& name, const std::string& model, const NamedOptions& options,
                 ZooPlan& plan);
  void add_options(const std::string& name, const NamedOptions& options, ZooFacts& facts);

  std::filesystem::path cache_;
  std::map<std::filesystem::path, std::string> contents_;
  ZooFacts versions_;
};

// The command lines, but for the program: that which makes the row's model, unless it is there, and
// that which measures it and writes the result as JSON.
std::vector<std::vector<std::string>> command_lines(const ZooEntry& entry, const ZooPlan& plan,
                                                    const std::filesystem::path& result);

// Results by key, and the rows of the last complete run. What is damaged is not there.
class ZooCache {
 public:
  // The folder is created. Throws Error where that cannot be done.
  explicit ZooCache(std::filesystem::path folder);

  // A result, or why there is none.
  struct Stored {
    std::string result, error;
  };
  std::optional<Stored> find(const std::string& key) const;
  void keep(const std::string& key, const Stored& stored);

  // Where a row's process writes.
  std::filesystem::path work_file(const std::string& key) const;
  // Before and after the row's model is made: it is there when it is whole, with what is beside its
  // reference, and those that were made of other contents are not.
  void begin_model(const ZooPlan& plan) const;
  void adopt_model(const ZooEntry& entry, const ZooPlan& plan) const;

  // What the last run said of the row: into `row`.
  void compare_with_last(const ZooFacts& facts, ZooRow& row) const;
  void write_last(const std::vector<ZooRow>& rows, const std::vector<ZooPlan>& plans) const;

 private:
  struct Last {
    ZooLast result;
    std::map<std::string, std::string> facts;
  };
  std::filesystem::path folder_;
  std::map<std::string, Last> last_;  // by row
};

}  // namespace vernier
