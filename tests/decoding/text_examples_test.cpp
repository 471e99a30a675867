#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/temporary_directory.h"
#include "vernier/analysis/text/text_tasks.h"
#include "vernier/error.h"

namespace vernier {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

TextExample example_of(TextTask task, const std::string& row) {
  return read_examples(task, std::vector{row}, {}, {}).at(0);
}

std::vector<std::string> answers_of(const std::string& answers) {
  return example_of(TextTask::question_answering,
                    R"({"question": "q", "context": "c", "answers": )" + answers + "}")
      .answers;
}

TEST(TextExamples, answers_are_read_in_every_usual_form) {
  EXPECT_THAT(answers_of(R"("x")"), ElementsAre("x"));
  EXPECT_THAT(answers_of(R"(["x", "y"])"), ElementsAre("x", "y"));
  EXPECT_THAT(answers_of(R"({"text": ["x", "y"], "answer_start": [1, 2]})"), ElementsAre("x", "y"));
  EXPECT_THAT(answers_of(R"([{"text": "x", "answer_start": 1}, {"text": "y"}])"),
              ElementsAre("x", "y"));
  EXPECT_THAT(answers_of(R"({"text": []})"), IsEmpty());
  EXPECT_THAT(answers_of(R"({"text": null})"), IsEmpty());
  EXPECT_THAT(answers_of("[]"), IsEmpty());
}

TEST(TextExamples, answers_of_another_form_are_an_error_and_no_question_without_an_answer) {
  for (const char* answers : {R"({"answer": "x"})", "[1]", "{}"})
    EXPECT_THAT([&] { answers_of(answers); },
                ThrowsMessage<Error>(HasSubstr("expected answers that are texts")));
}

TEST(TextExamples, words_and_labels_that_cannot_be_read_are_errors) {
  EXPECT_THROW(
      example_of(TextTask::token_classification, R"({"tokens": ["in", 1912], "tags": ["O", "O"]})"),
      Error);
  EXPECT_THAT(
      [] {
        example_of(TextTask::text_classification,
                   R"({"text": "good", "label": "1234567890123456789012345"})");
      },
      ThrowsMessage<Error>(HasSubstr("has no number")));
}

TEST(TextExamples, label_names_of_numbers_that_are_too_large_are_left_out) {
  const TemporaryDirectory folder;
  std::ofstream(folder / "config.json")
      << R"({"id2label": {"1234567890123456789012345": "x", "1": "good", "-1": "bad"}})";
  const std::vector<std::filesystem::path> beside = {folder.path()};
  EXPECT_EQ(read_label_names(beside), (std::map<std::int64_t, std::string>{{1, "good"}}));
}

}  // namespace
}  // namespace vernier
