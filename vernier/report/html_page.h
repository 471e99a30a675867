#pragma once

#include <string_view>

namespace vernier {

// The page built from web/, with a mark where the data goes; empty if built without Node.js.
std::string_view html_page();

}  // namespace vernier
