#pragma once

#include <string>
#include <vector>

#include "vernier/report/document.h"

namespace vernier {

// Aligned text for a terminal; colours as ANSI escapes when asked for. With a width above 0 no line
// is longer, but for code: long names in tables lose their middle, columns that can be spared
// are left out, a table that is still too wide goes on below itself, and sentences are wrapped.
std::string render_terminal(const Document& document, bool colour, int width = 0);

// The document with the symbols of reports in ASCII, for a terminal that shows nothing else: "+"
// for a check mark, digits for bars. Names out of files stay as they are.
Document in_ascii(Document document);

// The text in lines of at most `width` columns (code points), broken between words where possible.
std::vector<std::string> wrap_text(const std::string& text, int width);

// The text in at most `width` columns, with "…" for its middle where it is longer.
std::string elide_middle(const std::string& text, int width);

}  // namespace vernier
