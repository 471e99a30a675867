#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace vernier {

inline constexpr int zoo_file_version = 1;

// Options of a command, by their long names without dashes. A flag has no value, a repeated option
// has several.
using NamedOptions = std::map<std::string, std::vector<std::string>>;

// One row: a model in one precision, and the command that measures it.
struct ZooEntry {
  std::string model, precision;
  std::string command = "eval";
  std::string reference;  // empty if the command knows it, or takes none
  std::string candidate;  // a file, folder or id; empty if it is made from the reference
  NamedOptions options;   // of the command
  NamedOptions convert;   // of `vernier convert`, if it makes the candidate
  std::string metric;     // that the table shows; empty: the command's default
  bool operator==(const ZooEntry&) const = default;
};

// "resnet18 int8"
std::string row_name(const ZooEntry& entry);
// "resnet18.int8", usable as a file or folder name and different for every row: other characters
// are replaced, and a hash then keeps names apart.
std::string row_file_name(const ZooEntry& entry);

// The models of a team, and how each is measured. Paths start from the file's folder.
//   {"vernier_zoo": 1, "options": {"samples": 100},
//    "models": {"resnet18": {"reference": "resnet18.onnx", "options": {"fail-if": "sqnr_db<30"},
//                            "precisions": {"int8": "resnet18.int8.onnx", "fp16": {}}}}}
// Settings of a precision override those of its model, which override those of the file. Throws
// Error, with the place in the file, for anything that is wrong.
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
