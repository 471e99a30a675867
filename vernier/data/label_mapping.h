#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace vernier {

// From a label of the dataset to the label of the model that means the same.
using LabelMapping = std::map<std::int64_t, std::int64_t>;

// Reads a JSON object from class names (of `classes`) or label numbers of the dataset to label
// numbers of the model: {"tench": 0, "7": 1}. Labels that it leaves out have no counterpart. Or one
// that names the model's labels, the config.json of Hugging Face ("id2label") or an index of
// synsets ({"0": ["n01440764", "tench"]}): classes of one of these names have that label.
// Throws Error for a key that is neither, a value that is no label, or a class that several labels
// may mean.
LabelMapping read_label_mapping(const std::filesystem::path& path,
                                const std::vector<std::string>& classes);

// The config.json beside a model whose id2label names every one of the classes; nothing otherwise.
std::optional<std::filesystem::path> find_label_names(const std::filesystem::path& model,
                                                      const std::vector<std::string>& classes);

}  // namespace vernier
