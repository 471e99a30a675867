#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace vernier {

// A Python literal of the kinds found in .npy headers. Lists and tuples are distinct, as in numpy.
struct PythonLiteral {
  struct Tuple {
    std::vector<PythonLiteral> items;
  };
  struct List {
    std::vector<PythonLiteral> items;
  };
  struct Dict {
    std::vector<std::pair<PythonLiteral, PythonLiteral>> entries;  // in the order written
  };
  struct None {};

  std::variant<None, bool, std::int64_t, std::string, Tuple, List, Dict> value;

  template <typename T>
  const T* as() const {
    return std::get_if<T>(&value);
  }
};

// Parses the whole text; surrounding whitespace is allowed. Throws Error with what was expected,
// what was found and at which byte, also for integers beyond 64 bits and nesting deeper than 16.
PythonLiteral parse_python_literal(std::string_view text);

}  // namespace vernier
