#include "vernier/report/terminal.h"

#include <gtest/gtest.h>

namespace vernier {
namespace {

Document example() {
  return {"Title",
          {Panel{"", {{"model", "a.onnx"}, {"samples", "8"}}},
           Table{"Worst",
                 {{"name", Align::left}, {"sqnr"}},
                 {{"x", Cell("3.0", Tone::bad)}, {"é", "42.0"}},
                 "2 tensors"},
           Paragraph{Cell("PASS", Tone::good)}, Code{"--keep-fp32 node:a"}}};
}

TEST(Terminal, columns_align_by_code_points) {
  EXPECT_EQ(render_terminal(example(), false),
            "Title\n\n"
            "  model    a.onnx\n  samples  8\n\n"
            "Worst\n  name  sqnr\n  x      3.0\n  é     42.0\n  2 tensors\n\n"
            "PASS\n\n"
            "  --keep-fp32 node:a\n");
}

TEST(Terminal, colour_wraps_the_text_and_not_the_padding) {
  const std::string text = render_terminal(example(), true);
  EXPECT_NE(text.find(" \x1b[31m3.0\x1b[0m\n"), std::string::npos);
  EXPECT_NE(text.find("\x1b[32mPASS\x1b[0m"), std::string::npos);
}

TEST(Terminal, control_characters_in_names_are_shown_not_sent) {
  const Document document{"", {Paragraph{Cell("a\x1b[2Jb\n")}}};
  EXPECT_EQ(render_terminal(document, false), "a\\x1b[2Jb\\x0a\n");
}

}  // namespace
}  // namespace vernier
