#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace vernier {

inline constexpr int zoo_file_version = 1;

// Options of a command, by their long names without dashes; a flag has no value, and one that is
// repeated several.
using NamedOptions = std::map<std::string, std::vector<std::string>>;

// One row: a model in one precision, and the command that measures it.
struct ZooEntry {
  std::string model, precision;
  std::string command = "eval";
  std::string reference;  // empty: the command knows it, or takes none
  std::string candidate;  // a file, folder or id; empty: it is made from the reference
  NamedOptions options;   // of the command
  NamedOptions convert;   // of `vernier convert`, where it is made
  std::string metric;     // that the table shows; empty: the command's own
  bool operator==(const ZooEntry&) const = default;
};

// "resnet18 int8"
std::string row_name(const ZooEntry& entry);
// "resnet18.int8", as a file or folder may be called: other characters are replaced, and a hash
// keeps such names apart.
std::string row_file_name(const ZooEntry& entry);

// The models of a team, with what is asked of each. Paths start from the file's folder.
//   {"vernier_zoo": 1, "options": {"samples": 100},
//    "models": {"resnet18": {"reference": "resnet18.onnx", "options": {"fail-if": "sqnr_db<30"},
//                            "precisions": {"int8": "resnet18.int8.onnx", "fp16": {}}}}}
// What is said of a precision goes before what is said of its model, and that before what is said
// of all. Throws Error, with the place, for what is wrong.
struct Zoo {
  std::filesystem::path folder;
  std::vector<ZooEntry> entries;
};
Zoo read_zoo(const std::filesystem::path& path);

// The commands that a zoo may name.
std::vector<std::string> zoo_commands();

// "--name=value" for each value, "--name" for a flag.
std::vector<std::string> arguments_of(const NamedOptions& options);

}  // namespace vernier
