#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace vernier {

// The split that a word stands for, by its usual name: "val" and "dev" are "validation"; any other
// word stands for itself.
std::string split_name(std::string_view word);

// The split that a path's words name ("data/test-00000-of-00002.parquet"), "" for none.
std::string split_of(const std::filesystem::path& path);

// The files of a split, all of them if `split` is empty and they are of one split at most. `paths`
// are relative. Throws Error, with the splits there are, when none fits or one has to be chosen.
std::vector<std::filesystem::path> files_of_split(const std::vector<std::filesystem::path>& paths,
                                                  const std::string& split,
                                                  const std::string& subject);

}  // namespace vernier
