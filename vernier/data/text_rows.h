#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace vernier {

// The first rows, at most `most`, of a table of texts and labels, each as a JSON object of its
// columns. Reads a .csv or .tsv with a header, a .jsonl (or a .json array), a .parquet, an .arrow,
// or a folder of such files, in the order of their names. Throws Error for other or damaged files.
std::vector<std::string> read_text_rows(const std::filesystem::path& path, std::int64_t most);

}  // namespace vernier
