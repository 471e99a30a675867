#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace vernier {

// Throws Error if `name` cannot be the name of an array in an archive: empty, longer than zip
// allows, with a ".." component or a control character.
void check_npz_name(const std::filesystem::path& path, std::string_view name);

}  // namespace vernier
