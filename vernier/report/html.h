#pragma once

#include <span>
#include <string>

#include "vernier/report/document.h"

namespace vernier {

// One result on a page. Empty fields are omitted.
struct HtmlResult {
  std::string json;                    // the command's JSON result
  const Document* document = nullptr;  // the same result as a report; null if read from a file
  std::string command_line;            // command that reproduces the result
  std::string graph;                   // the candidate's graph, from graph_json()
  std::string detail;                  // recorded tensors, from detail_json()
};

// A page in one file that works without a network. The results are embedded as data, escaped so
// that nothing in them can become markup. Throws Error if the library was built without the page,
// or if a result is not JSON of Vernier.
std::string render_html(std::span<const HtmlResult> results);
std::string render_html(const HtmlResult& result);

// A document as JSON: {"title", "blocks": [{"kind": "panel" | "table" | "paragraph" | "code",
// ...}]}. A cell is a text, or [text, tone] if its tone is not plain.
std::string document_json(const Document& document);

// Throws Error if the library was built without the page. Call it before measuring.
void require_html();

}  // namespace vernier
