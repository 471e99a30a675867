#pragma once

#include <string>

#include "vernier/report/document.h"

namespace vernier {

// Aligned text for a terminal; colours as ANSI escapes when asked for.
std::string render_terminal(const Document& document, bool colour);

}  // namespace vernier
