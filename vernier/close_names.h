#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/error.h"

namespace vernier {

// The at most three names that are spelled most like `name`, closest first; empty if none is close.
std::vector<std::string> close_names(std::string_view name, std::span<const std::string> names);

// "[check] finding 'x': there is none of that name; did you mean y?"; lists all names if none is
// close.
Error unknown_name(std::string_view operation, std::string_view noun, std::string_view name,
                   std::span<const std::string> names);

}  // namespace vernier
