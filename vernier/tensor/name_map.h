#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace vernier {

struct NameHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view name) const {
    return std::hash<std::string_view>()(name);
  }
};

// Values by tensor name; can be searched with a string_view without making a copy.
template <typename Value>
using NameMap = std::unordered_map<std::string, Value, NameHash, std::equal_to<>>;

}  // namespace vernier
