#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace vernier {

// The first rows of a table of texts and labels, each as a JSON object of its columns: of a .csv or
// .tsv with a header, a .jsonl (or a .json array), a .parquet, an .arrow, or a folder with files of
// one of these, in the order of their names. Throws Error for other files, and for what is damaged.
std::vector<std::string> read_text_rows(const std::filesystem::path& path, std::int64_t most);

}  // namespace vernier
