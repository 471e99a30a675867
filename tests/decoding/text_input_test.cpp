#include "vernier/analysis/text/text_input.h"

#include <gtest/gtest.h>

#include <array>
#include <fstream>

#include "tests/failure.h"
#include "tests/temporary_directory.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;

TEST(TextInput, the_tokenizer_is_the_given_one_or_that_beside_the_first_model_that_has_one) {
  const TemporaryDirectory folder;
  fs::create_directory(folder / "reference");
  const std::array models = {folder / "model.onnx", folder / "reference" / "model.onnx"};
  EXPECT_EQ(find_tokenizer("", models), "");
  EXPECT_EQ(find_tokenizer("given", models), "given");
  const fs::path beside = folder / "reference" / "tokenizer.json";
  std::ofstream(beside) << "{}";
  EXPECT_EQ(find_tokenizer("", models), beside);
  EXPECT_EQ(find_tokenizer("given", models), "given");
}

TEST(TextInput, a_text_needs_a_tokenizer) {
  const TemporaryDirectory folder;
  InputSpec spec;
  read_text_input({}, folder / "model.onnx", "", spec);
  EXPECT_TRUE(spec.tokens.empty());
  EXPECT_EQ(failure_of([&] {
              read_text_input({.file = folder / "a.txt"}, folder / "model.onnx", "", spec);
            }),
            "[text] --text: its tokens are needed; pass --tokenizer tokenizer.json");
}

}  // namespace
}  // namespace vernier
