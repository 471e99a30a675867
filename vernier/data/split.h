#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace vernier {

// The canonical name of a split: "val" and "dev" are "validation"; unknown words are unchanged.
std::string split_name(std::string_view word);

// The split named in a path ("data/test-00000-of-00002.parquet"); "" if there is none.
std::string split_of(const std::filesystem::path& path);

// The files of a split; all of them if `split` is empty and the paths name at most one split.
// `paths` are relative. Throws Error with the known splits if none matches or one must be chosen.
std::vector<std::filesystem::path> files_of_split(const std::vector<std::filesystem::path>& paths,
                                                  const std::string& split,
                                                  const std::string& subject);

}  // namespace vernier
