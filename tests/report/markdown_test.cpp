#include "vernier/report/markdown.h"

#include <gtest/gtest.h>

namespace vernier {
namespace {

TEST(Markdown, every_block_has_its_form) {
  const Document document{
      "Title",
      {Panel{"Run", {{"model", "a.onnx"}}},
       Table{"Worst", {{"name", Align::left}, {"sqnr"}}, {{"x", "3.0"}}, "one tensor"},
       Paragraph{Cell("FAIL", Tone::bad)}, Code{"run it"}}};
  EXPECT_EQ(render_markdown(document),
            "# Title\n\n## Run\n\n- model: a.onnx\n\n"
            "## Worst\n\n| name | sqnr |\n|---|--:|\n| x | 3.0 |\n\none tensor\n\n"
            "**FAIL**\n\n```\nrun it\n```\n");
}

std::string rendered(const std::string& text) { return render_markdown({"", {Paragraph{text}}}); }

TEST(Markdown, names_cannot_become_markup) {
  EXPECT_EQ(rendered("a|b*c<d>`\n"), "a\\|b\\*c\\<d>\\`\\\\x0a\n");
  EXPECT_EQ(rendered("# title"), "\\# title\n");
  EXPECT_EQ(rendered("_private_ [x](y)"), "\\_private\\_ [x\\](y)\n");
}

TEST(Markdown, code_stays_between_its_fences) {
  const std::string text = render_markdown({"", {Code{"run '```\x1b[2J\xe2\x80\xae'\nagain"}}});
  EXPECT_EQ(text, "````\nrun '```\\x1b[2J\\u{202e}'\nagain\n````\n");
}

TEST(Markdown, names_that_are_no_markup_stay_as_they_are) {
  EXPECT_EQ(rendered("sqnr_db [1,10] a#b"), "sqnr_db [1,10] a#b\n");
}

}  // namespace
}  // namespace vernier
