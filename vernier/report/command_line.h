#pragma once

#include <string>
#include <string_view>

namespace vernier {

// An argument as a shell reads it: as it is where that is safe, else in quotes.
std::string shell_argument(std::string_view argument);

}  // namespace vernier
