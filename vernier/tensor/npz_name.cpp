#include "vernier/tensor/npz_name.h"

#include <fmt/format.h>

#include <algorithm>

#include "vernier/error.h"
#include "vernier/utf8.h"

namespace vernier {
namespace {

// 16 bits of length, less ".npy".
constexpr std::size_t max_name_bytes = 0xffff - 4;

bool is_control(char character) {
  const auto code = static_cast<unsigned char>(character);
  return code < 0x20 || code == 0x7f;
}

bool has_parent_component(std::string_view name) {
  while (true) {
    const std::size_t slash = name.find_first_of("/\\");
    if (name.substr(0, slash) == "..") return true;
    if (slash == std::string_view::npos) return false;
    name.remove_prefix(slash + 1);
  }
}

}  // namespace

void check_npz_name(const std::filesystem::path& path, std::string_view name) {
  const auto fail = [&](std::string_view expected) {
    throw Error(fmt::format("[npz] {}: member name: expected {}, found {:?}", path.string(),
                            expected, name.substr(0, 80)));
  };
  if (name.empty()) fail("at least one character");
  if (name.size() > max_name_bytes) fail(fmt::format("at most {} bytes", max_name_bytes));
  if (has_parent_component(name)) fail("no '..' in the path");
  if (std::ranges::any_of(name, is_control)) fail("no control characters");
  if (!is_utf8(name)) fail("UTF-8");
}

}  // namespace vernier
