#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace vernier {

// The argument as a shell needs it: unchanged if that is safe, else in quotes.
std::string shell_argument(std::string_view argument);

// "vernier tune model.int8.onnx --reference model.onnx --keep a,b -o model.int8.mixed.onnx"
std::string keep_command(const std::string& candidate, const std::string& reference,
                         const std::vector<std::string>& nodes);

}  // namespace vernier
