#pragma once

#include <string_view>

namespace vernier {

// The page that web/ is built into, with a mark where the data goes; empty: built without Node.js.
std::string_view html_page();

}  // namespace vernier
