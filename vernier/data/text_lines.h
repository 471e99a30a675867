#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace vernier {

// The lines of a text file, without their ends (a carriage return is part of an end). A final line
// without an end counts; the end of the last line starts no new one.
std::vector<std::string> read_lines(const std::filesystem::path& path);

}  // namespace vernier
