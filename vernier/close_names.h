#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/error.h"

namespace vernier {

// The names that are spelled most like `name`, the closest first, at most three; none if all are
// quite different.
std::vector<std::string> close_names(std::string_view name, std::span<const std::string> names);

// "[check] finding 'x': there is none; did you mean 'y'?", or all names when none is close.
Error unknown_name(std::string_view operation, std::string_view noun, std::string_view name,
                   std::span<const std::string> names);

}  // namespace vernier
