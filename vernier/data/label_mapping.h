#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace vernier {

// Maps a label of the dataset to the label of the model with the same meaning.
using LabelMapping = std::map<std::int64_t, std::int64_t>;

// Reads one of two kinds of JSON object. Either it maps class names (of `classes`) or label numbers
// of the dataset to label numbers of the model: {"tench": 0, "7": 1}. Or it names the model's
// labels: Hugging Face's config.json ("id2label") or an index of synsets ({"0": ["n01440764",
// "tench"]}); then classes are matched by name. Labels that are not mapped have no counterpart.
// Throws Error for a key that is neither a class nor a label, a value that is not a label, a class
// that matches several labels, or names of which none matches.
LabelMapping read_label_mapping(const std::filesystem::path& path,
                                const std::vector<std::string>& classes);

// The config.json next to a model; nullopt unless its id2label names each class exactly once.
std::optional<std::filesystem::path> find_label_names(const std::filesystem::path& model,
                                                      const std::vector<std::string>& classes);

}  // namespace vernier
