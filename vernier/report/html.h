#pragma once

#include <span>
#include <string>

#include "vernier/report/document.h"

namespace vernier {

// One result on a page. What is empty is left out.
struct HtmlResult {
  std::string json;                    // the command's own
  const Document* document = nullptr;  // the same in words; null: a result that was saved
  std::string command_line;            // that makes it again
  std::string graph;                   // JSON of graph_json: the candidate's graph
  std::string detail;                  // JSON of detail_json: what was recorded of tensors
};

// A page in one file, for a browser without a network: the results are data in it, and whatever
// they say, they are text. Throws Error where the library was built without the page, or a result
// is no JSON of Vernier.
std::string render_html(std::span<const HtmlResult> results);
std::string render_html(const HtmlResult& result);

// A document as JSON: {"title", "blocks": [{"kind": "panel" | "table" | "paragraph" | "code",
// ...}]}. A cell of it is a text, or [text, tone] where its tone is not plain.
std::string document_json(const Document& document);

// Throws Error where the library was built without the page: call it before the long work.
void require_html();

}  // namespace vernier
