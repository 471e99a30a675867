#pragma once

#include <string>

#include "vernier/report/document.h"

namespace vernier {

// GitHub-flavoured Markdown; names from models are escaped so that they cannot become markup.
std::string render_markdown(const Document& document);

}  // namespace vernier
