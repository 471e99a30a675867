#include "vernier/report/terminal.h"

#include <gtest/gtest.h>

#include <algorithm>

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
  EXPECT_NE(text.find("\x1b[36mPASS\x1b[0m"), std::string::npos);
}

TEST(Terminal, control_characters_in_names_are_shown_not_sent) {
  const Document document{"", {Paragraph{Cell("a\x1b[2Jb\n")}}};
  EXPECT_EQ(render_terminal(document, false), "a\\x1b[2Jb\\x0a\n");
}

// The longest line, in code points.
int longest_line(const std::string& text) {
  int longest = 0, length = 0;
  for (const char c : text) {
    if (c == '\n')
      length = 0;
    else if ((c & 0xc0) != 0x80)
      longest = std::max(longest, ++length);
  }
  return longest;
}

TEST(Terminal, no_line_is_wider_than_the_terminal) {
  Document document{"",
                    {Panel{"", {{"fails if", "sqnr_db_mean<20, sqnr_db_min<15, cosine<0.9"}}},
                     Table{"", {{"name", Align::left}}, {}, ""},
                     Paragraph{Cell("warning: a sentence that goes on for quite a while")}}};
  Table& table = std::get<Table>(document.blocks[1]);
  table.note = "a note below the table that is longer than the terminal is wide";
  std::vector<Cell> row = {"/encoder/layers/layer.11/output/dense/MatMul_output_0"};
  for (int i = 0; i < 9; ++i) {
    table.columns.push_back({"metric_" + std::to_string(i)});
    row.emplace_back("12.34567");
  }
  table.rows = {row, row};
  for (const int width : {40, 60, 80, 100, 200}) {
    const std::string text = render_terminal(document, false, width);
    EXPECT_LE(longest_line(text), width) << text;
    for (int i = 0; i < 9; ++i)
      EXPECT_NE(text.find("metric_" + std::to_string(i)), std::string::npos) << text;
  }
  EXPECT_GT(longest_line(render_terminal(document, false)), 100);
}

TEST(Terminal, columns_that_can_be_spared_go_first_and_are_named) {
  const Document document{
      "",
      {Table{"",
             {{"tensor", Align::left},
              {"op", Align::left, 1},
              {"local dB"},
              {.title = "clipped", .spare = 2},
              {"cumulative dB"}},
             {{"/encoder/layers/layer.11/output", "MatMul", "31.25", "0.02%", "22.5"}},
             ""}}};
  const auto shows = [&](int width, const char* text) {
    return render_terminal(document, false, width).find(text) != std::string::npos;
  };
  EXPECT_TRUE(shows(100, "clipped") && !shows(100, "too narrow"));
  EXPECT_TRUE(shows(60, "op") && shows(60, "too narrow for: clipped\n"));
  EXPECT_TRUE(shows(46, "too narrow for: clipped, op\n"));
  for (const int width : {46, 60, 100}) {
    EXPECT_TRUE(shows(width, "31.25") && shows(width, "22.5")) << width;
    EXPECT_LE(longest_line(render_terminal(document, false, width)), width);
  }
  // Beside a pipe nothing is left out.
  EXPECT_TRUE(shows(0, "clipped") && !shows(0, "too narrow"));
}

TEST(Terminal, long_names_lose_their_middle) {
  EXPECT_EQ(elide_middle("/encoder/layer.11/MatMul", 11), "/enco…atMul");
  EXPECT_EQ(elide_middle("short", 5), "short");
  EXPECT_EQ(elide_middle("ééééé", 3), "é…é");
}

TEST(Terminal, sentences_are_wrapped_between_words) {
  EXPECT_EQ(wrap_text("one two three", 7), (std::vector<std::string>{"one two", "three"}));
  EXPECT_EQ(wrap_text("unbreakable", 4), (std::vector<std::string>{"unbr", "eaka", "ble"}));
  EXPECT_EQ(wrap_text("", 4), std::vector<std::string>{""});
}

TEST(Terminal, symbols_have_letters_for_terminals_that_show_only_these) {
  Document document;
  document.blocks = {Panel{"", {{"✓ weights", "27.3 ± 2 ▁█"}}}, Paragraph{{"a → b"}}};
  EXPECT_EQ(render_terminal(in_ascii(document), false), "  + weights  27.3 +/- 2 18\n\na -> b\n");
}

}  // namespace
}  // namespace vernier
