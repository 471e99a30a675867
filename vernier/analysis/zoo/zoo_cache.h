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

// How a row is measured, as far as that is known in advance.
struct ZooPlan {
  ZooFacts facts;
  std::string key;                  // hash of all facts
  bool known = true;                // false if a model is code, whose content cannot be hashed
  std::filesystem::path candidate;  // where it will be made; empty if the row names it
};

// Plans rows, and reads the content of each file once.
class ZooPlanner {
 public:
  explicit ZooPlanner(std::filesystem::path cache);
  // Paths start from the working folder. Throws Error if a model cannot be read.
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

// The command lines, without the program: one that makes the row's model, unless that exists, and
// one that measures it and writes the result as JSON.
std::vector<std::vector<std::string>> command_lines(const ZooEntry& entry, const ZooPlan& plan,
                                                    const std::filesystem::path& result);

// Results by key, and the rows of the last complete run. Damaged files count as missing.
class ZooCache {
 public:
  // Creates the folder. Throws Error if that fails.
  explicit ZooCache(std::filesystem::path folder);

  // A result, or the reason why there is none.
  struct Stored {
    std::string result, error;
  };
  std::optional<Stored> find(const std::string& key) const;
  void keep(const std::string& key, const Stored& stored);

  // The file that a row's process writes its result to.
  std::filesystem::path work_file(const std::string& key) const;
  // Called before and after the row's model is made. adopt_model() copies the files beside the
  // reference, removes models made from other contents, and only then puts the model in place.
  void begin_model(const ZooPlan& plan) const;
  void adopt_model(const ZooEntry& entry, const ZooPlan& plan) const;

  // Sets `last` and `changed` of the row.
  void compare_with_last(const ZooFacts& facts, ZooRow& row) const;
  void write_last(const std::vector<ZooRow>& rows, const std::vector<ZooPlan>& plans) const;

 private:
  struct Last {
    ZooLast result;
    std::map<std::string, std::string> facts;
  };
  std::filesystem::path folder_;
  std::map<std::pair<std::string, std::string>, Last> last_;  // by model and precision
};

}  // namespace vernier
