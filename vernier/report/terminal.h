#pragma once

#include <string>
#include <vector>

#include "vernier/report/document.h"

namespace vernier {

// Aligned text for a terminal, with ANSI colours if `colour` is set. With a width above 0, no line
// except code is longer: long names in tables lose their middle, spare columns are dropped, a table
// that is still too wide continues below itself, and sentences are wrapped.
std::string render_terminal(const Document& document, bool colour, int width = 0);

// The document with its symbols replaced by ASCII, for terminals without UTF-8: "+" for a check
// mark, digits for bars. Names from files are unchanged.
Document in_ascii(Document document);

// The text in lines of at most `width` columns (code points), broken between words if possible.
std::vector<std::string> wrap_text(const std::string& text, int width);

// The text in at most `width` columns; the middle of a longer text is replaced by "…".
std::string elide_middle(const std::string& text, int width);

}  // namespace vernier
