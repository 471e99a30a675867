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

TEST(Markdown, names_cannot_become_markup) {
  const Document document{"", {Table{"", {{"name", Align::left}}, {{"a|b_c<d>\n#"}}, ""}}};
  EXPECT_EQ(render_markdown(document), "| name |\n|---|\n| a\\|b\\_c\\<d\\> \\# |\n");
}

}  // namespace
}  // namespace vernier
