#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/run.h"
#include "tests/fixture.h"
#include "tests/temporary_directory.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using testing::CompletedProcess;
using testing::expect_error;
using testing::expect_valid_json;
using ::testing::HasSubstr;
using testing::read_text;
using testing::run_program;
using testing::run_vernier;

using Arguments = std::vector<std::string>;

class Zoo : public ::testing::Test {
 protected:
  Zoo() {
    for (const char* name : {"mnist_cnn.onnx", "mnist_cnn.int8.onnx", "mnist_vit.onnx",
                             "mnist_vit.int8.onnx", "mnist_inputs.npz"})
      fs::copy_file(fixture(std::string("mnist/") + name), path(name));
    write({{"vernier_zoo", 1},
           {"options", {{"input-data", "mnist_inputs.npz"}, {"samples", 4}, {"exact", true}}},
           {"models",
            {{"cnn",
              {{"reference", "mnist_cnn.onnx"}, {"precisions", {{"int8", "mnist_cnn.int8.onnx"}}}}},
             {"vit",
              {{"reference", "mnist_vit.onnx"},
               {"precisions", {{"int8", "mnist_vit.int8.onnx"}}}}}}}});
  }

  std::string path(const std::string& name) const { return folder_ / name; }
  void write(const Json& zoo) {
    zoo_ = zoo;
    std::ofstream(path("zoo.json")) << zoo.dump(2);
  }
  Json& model(const char* name) { return zoo_["models"][name]; }

  CompletedProcess run(const Arguments& more = {}) {
    Arguments arguments = {"zoo", path("zoo.json")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_vernier(arguments);
  }
  // The rows of a run, which may end with any verdict.
  Json rows(const Arguments& more = {}) {
    Arguments arguments = {"-f", "json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const CompletedProcess outcome = run(arguments);
    expect_valid_json("zoo", outcome.out);
    return Json::parse(outcome.out)["rows"];
  }
  static std::string states(const Json& rows) {
    std::string text;
    for (const Json& row : rows)
      text += (text.empty() ? "" : " ") + row["state"].get<std::string>();
    return text;
  }

  TemporaryDirectory folder_;
  Json zoo_;
};

TEST_F(Zoo, what_has_not_changed_is_measured_once) {
  const Json first = rows();
  EXPECT_EQ(states(first), "measured measured");
  EXPECT_EQ(first[0]["metric"]["name"], "sqnr_db_mean");
  EXPECT_GT(first[0]["metric"]["value"], 15);
  EXPECT_TRUE(first[0]["delta"].is_null());
  const Json second = rows();
  EXPECT_EQ(states(second), "cached cached");
  for (std::size_t i = 0; i < second.size(); ++i) {
    EXPECT_EQ(second[i]["metric"], first[i]["metric"]);
    EXPECT_EQ(second[i]["outcome"], first[i]["outcome"]);
    EXPECT_EQ(second[i]["delta"], 0);
  }
  EXPECT_EQ(states(rows({"--again"})), "measured measured");
}

TEST_F(Zoo, a_row_is_what_its_command_says) {
  const Json measured = rows();
  const CompletedProcess alone = run_vernier(
      {"eval", path("mnist_cnn.int8.onnx"), "--reference", path("mnist_cnn.onnx"), "--input-data",
       path("mnist_inputs.npz"), "--samples", "4", "--exact", "--threads", "1", "-f", "json"});
  const Json result = Json::parse(alone.out);
  EXPECT_EQ(measured[0]["outcome"], result["verdict"]["outcome"]);
  EXPECT_EQ(measured[0]["metric"]["value"], result["outputs"][0]["metrics"]["sqnr_db_mean"]);
}

TEST_F(Zoo, a_changed_model_reruns_only_itself) {
  rows();
  fs::copy_file(path("mnist_cnn.onnx"), path("mnist_cnn.int8.onnx"),
                fs::copy_options::overwrite_existing);
  const Json changed = rows();
  EXPECT_EQ(states(changed), "measured cached");
  EXPECT_EQ(changed[0]["changed"], Json::array({"candidate"}));
  EXPECT_EQ(changed[0]["last"]["metric"]["name"], "sqnr_db_mean");
  EXPECT_EQ(changed[0]["delta"], "inf");
  // Back again: it was measured before.
  fs::copy_file(fixture("mnist/mnist_cnn.int8.onnx"), path("mnist_cnn.int8.onnx"),
                fs::copy_options::overwrite_existing);
  EXPECT_EQ(states(rows()), "cached cached");
}

TEST_F(Zoo, options_data_and_sidecars_are_part_of_the_contents) {
  rows();
  model("cnn")["options"] = {{"samples", 5}};
  write(zoo_);
  Json changed = rows();
  EXPECT_EQ(states(changed), "measured cached");
  EXPECT_EQ(changed[0]["changed"], Json::array({"options"}));
  std::ofstream(path("preprocessor_config.json")) << "{}";
  changed = rows();
  EXPECT_EQ(states(changed), "measured measured");
  EXPECT_EQ(changed[1]["changed"],
            Json::array({"files beside the reference", "files beside the candidate"}));
  fs::copy_file(fixture("mnist/mnist_labelled.npz"), path("mnist_inputs.npz"),
                fs::copy_options::overwrite_existing);
  for (const Json& row : rows())
    EXPECT_THAT(row["changed"], ::testing::Contains("content of --input-data"));
  // What changes no number is none of them.
  fs::copy_file(fixture("mnist/mnist_inputs.npz"), path("mnist_inputs.npz"),
                fs::copy_options::overwrite_existing);
  zoo_["options"]["timeout"] = 600;
  write(zoo_);
  EXPECT_EQ(states(rows()), "cached cached");
}

TEST_F(Zoo, a_row_that_cannot_be_measured_is_a_row_and_is_tried_again) {
  model("cnn")["precisions"]["lost"] = "none.onnx";
  std::ofstream(path("damaged.onnx")) << "no model";
  model("cnn")["precisions"]["damaged"] = "damaged.onnx";
  write(zoo_);
  const CompletedProcess outcome = run({"-f", "json"});
  EXPECT_EQ(outcome.exit_code, 2);
  expect_valid_json("zoo", outcome.out);
  const Json result = Json::parse(outcome.out);
  EXPECT_EQ(result["verdict"]["outcome"], "fail");
  EXPECT_THAT(result["verdict"]["failures"].dump(),
              HasSubstr(R"({"subject":"cnn lost","group":"model","metric":"eval","value":"nan",)"
                        R"("limit":null,"kind":"unmeasured","text":"model cnn lost: )"));
  EXPECT_EQ(states(result["rows"]), "measured failed failed measured");
  EXPECT_THAT(result["rows"][1]["failures"][0], HasSubstr("none.onnx: no such file or folder"));
  EXPECT_THAT(result["rows"][2]["failures"][0], HasSubstr("damaged.onnx"));
  EXPECT_THAT(outcome.err, HasSubstr("[zoo] cnn damaged: ERROR"));
  fs::copy_file(path("mnist_cnn.onnx"), path("none.onnx"));
  const Json again = rows();
  EXPECT_EQ(states(again), "cached measured failed cached");
  EXPECT_TRUE(again[1]["last"]["outcome"].is_null());
  EXPECT_THAT(run().out, HasSubstr("ERROR"));
}

TEST_F(Zoo, the_worst_verdict_is_the_exit_code) {
  const auto with = [&](const Json& cnn, const Json& vit) {
    model("cnn")["options"] = cnn;
    model("vit")["options"] = vit;
    write(zoo_);
    return run();
  };
  const Json pass = {{"fail-if", "sqnr_db<1"}}, fail = {{"fail-if", "sqnr_db<90"}};
  const Json inconclusive = {{"input-data", nullptr}, {"inputs", "uniform"}};
  const auto last_line = [](const CompletedProcess& outcome) {
    return outcome.out.substr(outcome.out.rfind("\n\n") + 2);
  };
  const CompletedProcess passing = with(pass, pass);
  EXPECT_EQ(passing.exit_code, 0);
  EXPECT_THAT(passing.out, HasSubstr("all 2 rows PASS\n"));
  EXPECT_EQ(last_line(passing), "PASS\n");
  const CompletedProcess failing = with(pass, fail);
  EXPECT_EQ(failing.exit_code, 1);
  EXPECT_THAT(failing.out, HasSubstr("FAIL (was PASS)"));
  EXPECT_THAT(failing.out, HasSubstr("vit int8: output last_hidden_state: sqnr_db "));
  EXPECT_THAT(failing.out, HasSubstr(" < 90\n"));
  EXPECT_THAT(failing.out, HasSubstr("of 2 rows 1 FAIL\n"));
  EXPECT_THAT(last_line(failing),
              ::testing::StartsWith("FAIL: model vit int8: output last_hidden_state: sqnr_db "));
  const CompletedProcess doubtful = with(inconclusive, pass);
  EXPECT_EQ(doubtful.exit_code, 3);
  EXPECT_THAT(last_line(doubtful), ::testing::StartsWith("INCONCLUSIVE: of 2 rows 1 INCONCLUSIVE"));
  EXPECT_EQ(with(inconclusive, fail).exit_code, 1);
}

TEST_F(Zoo, precisions_are_made_from_the_reference) {
  zoo_["models"].erase("vit");
  model("cnn")["precisions"]["fp16"] = Json::object();
  model("cnn")["precisions"]["weights"] = {{"convert", {{"precision", "w8"}, {"fast", true}}}};
  model("cnn")["convert"] = {{"data", "mnist_inputs.npz"}, {"io", "fp32"}};  // each takes its own
  write(zoo_);
  const Json made = rows();
  EXPECT_EQ(states(made), "measured measured measured") << made.dump(2);
  EXPECT_GT(made[1]["metric"]["value"], made[2]["metric"]["value"]);
  EXPECT_EQ(states(rows()), "cached cached cached");
  EXPECT_TRUE(fs::exists(path("zoo.cache/models")));
  // Measured otherwise, the models are not made again.
  const auto models = [&] {
    std::vector<std::pair<std::string, fs::file_time_type>> files;
    for (const auto& entry : fs::recursive_directory_iterator(path("zoo.cache/models")))
      if (entry.is_regular_file()) files.emplace_back(entry.path(), entry.last_write_time());
    std::ranges::sort(files);
    return files;
  };
  const auto before = models();
  EXPECT_EQ(before.size(), 3U) << "weights alone: the float model, too";
  zoo_["options"]["samples"] = 3;
  write(zoo_);
  EXPECT_EQ(states(rows()), "measured measured measured");
  EXPECT_EQ(models(), before);
  // Of another reference they are, and those before are gone.
  fs::copy_file(fixture("mnist/mnist_cnn.float.onnx"), path("mnist_cnn.onnx"),
                fs::copy_options::overwrite_existing);
  rows();
  EXPECT_EQ(models().size(), 3U);
  EXPECT_NE(models(), before);
}

TEST_F(Zoo, every_command_that_judges_may_be_asked) {
  zoo_["models"].erase("vit");
  const auto entry = [](const char* command) {
    return Json{{"model", "mnist_cnn.int8.onnx"}, {"command", command}};
  };
  for (const char* command : {"debug", "layers", "diagnose"})
    model("cnn")["precisions"][command] = entry(command);
  model("cnn")["precisions"]["check"] = entry("check");
  model("cnn")["precisions"]["check"]["options"] = {{"samples", nullptr}};
  model("cnn")["precisions"]["task"] = {{"model", "mnist_cnn.int8.onnx"},
                                        {"metric", "top5_accuracy"},
                                        {"options",
                                         {{"task", "image-classification"},
                                          {"dataset", fixture("mnist/mnist_labelled.npz")},
                                          {"samples", 50},
                                          {"input-data", nullptr}}}};
  write(zoo_);
  const Json all = rows();
  std::vector<std::string> metrics;
  for (const Json& row : all) {
    EXPECT_EQ(row["state"], "measured") << row.dump(2);
    metrics.push_back(row["metric"].is_null() ? "" : row["metric"]["name"].get<std::string>());
  }
  EXPECT_THAT(metrics, ::testing::ElementsAre("sqnr_db_mean", "sqnr_db", "max_abs_diff",
                                              "sqnr_db_mean", "errors", "top5_accuracy"));
  // Of layers the worst counts, which need not be an output.
  const CompletedProcess alone = run_vernier(
      {"layers", path("mnist_cnn.int8.onnx"), "--reference", path("mnist_cnn.onnx"), "--input-data",
       path("mnist_inputs.npz"), "--samples", "4", "--exact", "--threads", "1", "-f", "json"});
  double worst = 0;
  const Json result = Json::parse(alone.out);
  for (const Json& layer : result["layers"])
    if (layer["max_abs_diff"].is_number())
      worst = std::max(worst, layer["max_abs_diff"].get<double>());
  EXPECT_EQ(all[2]["metric"]["value"].get<double>(), worst);
}

TEST_F(Zoo, shards_measure_what_a_last_run_collects) {
  const Json none = rows({"--collect"});
  EXPECT_EQ(states(none), "missing missing");
  EXPECT_EQ(run({"--collect"}).exit_code, 3);
  const CompletedProcess shard = run({"--shard", "2/2"});
  EXPECT_EQ(shard.exit_code, 0) << shard.err;
  EXPECT_EQ(shard.out, "");
  EXPECT_EQ(states(rows({"--collect"})), "missing cached");
  // A row that fails is no failure of its shard, and the collecting run measures nothing again.
  fs::remove(path("mnist_cnn.onnx"));
  std::ofstream(path("mnist_cnn.onnx")) << "no model";
  EXPECT_EQ(run({"--shard", "1/2"}).exit_code, 0);
  EXPECT_EQ(states(rows({"--collect"})), "failed cached");
  EXPECT_EQ(run({"--collect"}).exit_code, 2);
}

TEST_F(Zoo, one_that_is_interrupted_goes_on) {
  for (int i = 0; i < 6; ++i)
    model("cnn")["precisions"]["int8_" + std::to_string(i)] = {{"model", "mnist_cnn.int8.onnx"},
                                                               {"options", {{"samples", 5 + i}}}};
  write(zoo_);
  // Told to stop when the first row is there, and killed when another one is.
  const std::string wait =
      "count() { ls zoo.cache/results 2>/dev/null | wc -l; }; before=$(count); "
      "\"$0\" zoo zoo.json --jobs 1 -f json >out.json 2>err.txt & zoo=$!; "
      "while [ $(count) -eq $before ] && kill -0 $zoo 2>/dev/null; do sleep 0.02; done; ";
  const CompletedProcess stopped = run_program(
      {"sh", "-c", wait + "kill -TERM $zoo; wait $zoo", VERNIER_BINARY}, folder_.path());
  EXPECT_EQ(stopped.exit_code, 143) << read_text(path("err.txt"));
  if (const std::string text = read_text(path("out.json")); !text.empty()) {
    const Json result = Json::parse(text);
    EXPECT_TRUE(result["interrupted"]);
    EXPECT_NE(result["verdict"]["outcome"], "pass");
    EXPECT_THAT(states(result["rows"]), HasSubstr("missing"));
  }
  run_program({"sh", "-c", wait + "kill -KILL $zoo; wait $zoo", VERNIER_BINARY}, folder_.path());
  const Json last = rows();
  EXPECT_EQ(last.size(), 8U);
  EXPECT_THAT(states(last), HasSubstr("cached cached"));
  EXPECT_THAT(states(last), HasSubstr("measured"));
  for (const Json& row : last)
    EXPECT_TRUE(row["last"].is_null()) << "no run came to its end before";
  EXPECT_EQ(states(rows()), "cached cached cached cached cached cached cached cached");
}

TEST_F(Zoo, results_of_rows_are_written_to_a_folder) {
  run({"--reports", path("reports")});
  const Json result = Json::parse(read_text(path("reports/cnn.int8.json")));
  EXPECT_EQ(result["command"], "eval");
  EXPECT_EQ(result["run"]["candidate"], "mnist_cnn.int8.onnx");
  EXPECT_TRUE(fs::exists(path("reports/vit.int8.json")));
}

TEST_F(Zoo, the_example_keeps_the_schema) {
  expect_valid_json("zoo-file", read_text(VERNIER_EXAMPLES "/zoo.json"));
  expect_valid_json("zoo-file", read_text(path("zoo.json")));
}

TEST_F(Zoo, the_table_has_every_format) {
  const CompletedProcess text = run();
  EXPECT_THAT(text.out, HasSubstr("since last run"));
  EXPECT_THAT(run({"-f", "md"}).out, HasSubstr("| cnn"));
  EXPECT_THAT(run({"-f", "csv"}).out, HasSubstr("model,cnn int8,cnn,int8,eval,cached"));
  EXPECT_THAT(run({"-f", "junit"}).out, HasSubstr("classname=\"zoo.model\" name=\"vit int8\""));
  run({"-o", path("zoo.html")});
  EXPECT_THAT(read_text(path("zoo.html")), HasSubstr("\"command\":\"zoo\""));
}

class ZooErrors : public ::testing::Test {
 protected:
  // Each is told with its place.
  void expect(const std::string& text, const std::string& error) {
    const std::string file = folder_ / "zoo.json";
    std::ofstream(file) << text;
    expect_error(run_vernier({"zoo", file}), "zoo.json: " + error);
    EXPECT_FALSE(fs::exists(folder_ / "zoo.cache"));
  }
  TemporaryDirectory folder_;
};

TEST_F(ZooErrors, name_the_place_and_the_remedy) {
  expect("{", "is not valid JSON (parse error at line 1");
  expect("[]", "expected an object {...}, found array");
  expect("{}", "is no zoo: expected \"vernier_zoo\": 1");
  expect(R"({"vernier_zoo": 9})", "has version 9, this program reads 1");
  expect(R"({"vernier_zoo": 1})", "expected \"models\": {\"NAME\": {...}, ...}");
  expect(R"({"vernier_zoo": 1, "modles": {}})", "modles: is not known; did you mean 'models'?");
  expect(R"({"vernier_zoo": 1, "models": {"a": {}}})", "models.a: expected \"precisions\"");
  expect(R"({"vernier_zoo": 1, "models": {"a": {"precisions": {"fp16": {}}}}})",
         "models.a.precisions.fp16: has no model, and there is no reference");
  expect(R"({"vernier_zoo": 1, "models": {"a": {"precisions": {"x": 7}}}})",
         "models.a.precisions.x: expected the model's file, or an object {...}, found number");
  expect(R"({"vernier_zoo": 1, "models": {"a": {"precisions": {"x": "a", "x": "b"}}}})",
         "key 'x' occurs twice");
  expect(R"({"vernier_zoo": 1, "command": "record", "models": {}})",
         "command: 'record' is not a command that a zoo can run");
  expect(R"({"vernier_zoo": 1, "options": {"--seed": 1}, "models": {}})",
         "options.--seed: write it as 'seed'");
  expect(R"({"vernier_zoo": 1, "options": {"output": "x"}, "models": {}})",
         "options.output: is set by vernier zoo");
  expect(R"({"vernier_zoo": 1, "options": {"seed": {}}, "models": {}})",
         "options.seed: expected a text, a number, true, false or a list, found {}");
}

TEST_F(ZooErrors, come_before_anything_is_measured) {
  const std::string file = folder_ / "zoo.json";
  std::ofstream(file)
      << R"({"vernier_zoo": 1, "models": {"a": {"precisions": {"x": {"model": "m.onnx", "options": {"sampels": 4}}}}}})";
  expect_error(run_vernier({"zoo", file}), "[zoo] a x: [eval] option 'sampels'");
  expect_error(run_vernier({"zoo", folder_ / "none.json"}), "none.json");
  expect_error(run_vernier({"zoo", file, "--collect", "--again"}), "--collect measures nothing");
  expect_error(run_vernier({"zoo", file, "--shard", "3/2"}), "expected NUMBER/COUNT");
}

}  // namespace
}  // namespace vernier
