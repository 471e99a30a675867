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

// Values by tensor name; finds views of names without a copy of them.
template <typename Value>
using NameMap = std::unordered_map<std::string, Value, NameHash, std::equal_to<>>;

}  // namespace vernier
