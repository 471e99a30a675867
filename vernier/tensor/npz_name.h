#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace vernier {

// Throws Error if `name` cannot be the name of an array in an archive: empty, longer than zip
// allows, with a ".." component or a control character, or not UTF-8. A leading slash is allowed:
// tensors of ONNX models have names like "/layer1/conv1/Conv_output_0".
void check_npz_name(const std::filesystem::path& path, std::string_view name);

}  // namespace vernier
