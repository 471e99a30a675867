#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "tests/cli/run.h"
#include "tests/fixture.h"
#include "tests/temporary_directory.h"
#include "vernier/analysis/parts/part_file.h"

namespace vernier {
namespace {

using Json = nlohmann::json;
using testing::CompletedProcess;
using testing::expect_error;
using ::testing::HasSubstr;
using testing::read_text;
using testing::run_program;
using testing::run_vernier;

using Arguments = std::vector<std::string>;

Arguments with(Arguments arguments, const Arguments& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

// Measurements of each command, whose parts must make what they make as a whole.
struct Measurement {
  const char* name;
  Arguments arguments;
};
void PrintTo(const Measurement& measurement, std::ostream* out) { *out << measurement.name; }
const std::vector<Measurement> measurements = {
    {"compare",
     {"eval", mnist_int8, "--reference", mnist_cnn, "--input-data", mnist_inputs, "--samples",
      "8"}},
    {"compare_random",
     {"eval", mnist_int8, "--reference", mnist_cnn, "--inputs", "normal", "--samples", "9"}},
    {"debug",
     {"debug", mnist_int8, "--reference", mnist_cnn, "--input-data", mnist_inputs, "--samples",
      "7"}},
    {"debug_limits",
     {"debug", mnist_int8, "--reference", mnist_cnn, "--inputs", "normal", "--samples", "5",
      "--fail-if", "output:cumulative<10", "--quick"}},
    {"layers", {"layers", mnist_int8, "--reference", mnist_cnn, "--samples", "5"}},
    {"layers_float",
     {"layers", fixture("mnist/mnist_cnn.float.onnx"), "--reference", mnist_cnn, "--samples", "4",
      "--tolerance", "1e-9"}},
    {"classify",
     {"eval", mnist_int8, "--reference", mnist_cnn, "--task", "image-classification", "--dataset",
      mnist_labelled, "--samples", "60", "--batch", "7"}},
    {"embed",
     {"eval", fixture("mnist/mnist_vit.int8.onnx"), "--reference", fixture("mnist/mnist_vit.onnx"),
      "--task", "image-feature-extraction", "--dataset", mnist_labelled, "--samples", "40",
      "--batch", "1"}},
};

class Parts : public ::testing::TestWithParam<Measurement> {
 protected:
  std::string path(const std::string& name) const { return folder_ / name; }
  const Arguments& arguments() const { return GetParam().arguments; }

  std::string whole() {
    const CompletedProcess outcome = run_vernier(with(arguments(), {"-o", path("whole.json")}));
    EXPECT_LE(outcome.exit_code, 3) << outcome.err;
    EXPECT_NE(outcome.exit_code, 2) << outcome.err;
    return read_text(path("whole.json"));
  }

  std::string part(int number, int count) {
    const std::string file = path(std::to_string(number) + "-" + std::to_string(count) + ".vpart");
    const std::string shard = std::to_string(number) + "/" + std::to_string(count);
    const CompletedProcess outcome = run_vernier(with(arguments(), {"--shard", shard, "-o", file}));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return file;
  }

  Arguments parts(int count) {
    Arguments files;
    for (int number = 1; number <= count; ++number) files.push_back(part(number, count));
    return files;
  }

  std::string merged(const Arguments& files) {
    const CompletedProcess outcome = run_vernier(with({"merge", "-o", path("merged.json")}, files));
    EXPECT_NE(outcome.exit_code, 2) << outcome.err;
    return outcome.exit_code == 2 ? "" : read_text(path("merged.json"));
  }

  TemporaryDirectory folder_;
};

TEST_P(Parts, in_any_order_they_make_the_bytes_of_the_whole) {
  const std::string expected = whole();
  std::mt19937 random(1);
  for (const int count : {1, 3}) {
    Arguments files = parts(count);
    std::ranges::shuffle(files, random);
    EXPECT_EQ(merged(files), expected) << count;
  }
  EXPECT_EQ(merged({part(4, 4), part(1, 2), part(3, 4)}), expected) << "of different cuts";
}

TEST_P(Parts, more_of_them_than_samples_are_merged_too) {
  if (GetParam().name != std::string("compare")) return;  // one command shows it
  EXPECT_EQ(merged(parts(11)), whole());
}

TEST_P(Parts, a_run_that_is_killed_goes_on_to_the_same_bytes) {
  const std::string expected = whole();
  std::mt19937 random(7);
  std::uniform_int_distribution<int> milliseconds(100, 900);
  const Arguments command =
      with(arguments(), {"--checkpoint", path("checkpoint"), "-o", path("resumed.json")});
  for (int kill = 0; kill < 6; ++kill) {
    const std::string seconds = "0." + std::to_string(1000 + milliseconds(random)).substr(1);
    run_program(with({"timeout", "-s", "KILL", seconds, VERNIER_BINARY}, command));
  }
  const CompletedProcess outcome = run_vernier(command);
  EXPECT_NE(outcome.exit_code, 2) << outcome.err;
  EXPECT_EQ(read_text(path("resumed.json")), expected);
}

// Where a kill leaves it: after any byte.
TEST_P(Parts, a_checkpoint_that_is_cut_off_anywhere_goes_on_to_the_same_bytes) {
  const std::string expected = whole();
  const Arguments command =
      with(arguments(), {"--checkpoint", path("checkpoint"), "-o", path("resumed.json")});
  run_vernier(command);
  EXPECT_EQ(read_text(path("resumed.json")), expected);
  const auto file = std::filesystem::directory_iterator(path("checkpoint"))->path();
  const auto size = static_cast<std::int64_t>(std::filesystem::file_size(file));
  std::mt19937 random(3);
  for (const std::int64_t left :
       {std::int64_t{0}, std::int64_t{40}, size - 1,
        std::uniform_int_distribution<std::int64_t>(1000, size - 2)(random)}) {
    std::filesystem::resize_file(file, static_cast<std::uintmax_t>(left));
    run_vernier(command);
    EXPECT_EQ(read_text(path("resumed.json")), expected) << left << " of " << size << " bytes";
  }
}

TEST_P(Parts, a_part_has_a_checkpoint_too) {
  const std::string file = path("part.vpart");
  const Arguments command =
      with(arguments(), {"--shard", "1/1", "-o", file, "--checkpoint", path("checkpoint")});
  EXPECT_EQ(run_vernier(command).exit_code, 0);
  EXPECT_THAT(run_vernier(command).err, HasSubstr("[checkpoint] goes on from"));
  EXPECT_EQ(merged({file}), whole());
}

// The same keys, texts and verdicts; numbers may differ by what rounding of the outputs makes of
// them. Of the candidate without its quantizers rounding is all that is left.
void expect_alike(const Json& actual, const Json& expected, const std::string& where = "") {
  ASSERT_EQ(actual.type(), expected.type()) << where;
  if (expected.is_number_float()) {
    const double value = expected.get<double>();
    if (where.ends_with("/unquantized_sqnr_db"))
      EXPECT_GT(std::min(actual.get<double>(), value), 100) << where;
    else
      EXPECT_NEAR(actual.get<double>(), value, 1e-3 * std::abs(value) + 1e-9) << where;
  } else if (expected.is_structured()) {
    ASSERT_EQ(actual.size(), expected.size()) << where;
    for (const auto& [key, value] : expected.items())
      expect_alike(expected.is_array() ? actual[std::stoul(key)] : actual.at(key), value,
                   where + "/" + key);
  } else {
    EXPECT_EQ(actual, expected) << where;
  }
}

// Kernels of ONNX Runtime cut their work by threads, and may round otherwise where they cut.
TEST_P(Parts, threads_change_no_more_than_kernels_round) {
  if (GetParam().name == std::string("layers_float")) return;  // it measures rounding itself
  const Json expected = Json::parse(whole());
  for (const char* threads : {"1", "2", "4"}) {
    SCOPED_TRACE(threads);
    run_vernier(with(arguments(), {"--threads", threads, "-o", path("result.json")}));
    expect_alike(Json::parse(read_text(path("result.json"))), expected);
  }
}

TEST_P(Parts, checkpoints_and_supervision_change_no_byte) {
  const std::string expected = whole();
  run_program(with(with({"env", "VERNIER_UNSUPERVISED=1", VERNIER_BINARY}, arguments()),
                   {"-o", path("result.json"), "--checkpoint", path("checkpoint")}));
  EXPECT_EQ(read_text(path("result.json")), expected);
}

INSTANTIATE_TEST_SUITE_P(Commands, Parts, ::testing::ValuesIn(measurements),
                         [](const auto& each) { return std::string(each.param.name); });

class MergeErrors : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_ / name; }
  std::string part(const std::string& shard, const std::string& name, const Arguments& more = {}) {
    const CompletedProcess outcome =
        run_vernier(with(with({"eval", mnist_int8, "--reference", mnist_cnn, "--input-data",
                               mnist_inputs, "--shard", shard, "-o", path(name)},
                              {"--samples", "6"}),
                         more));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return path(name);
  }
  TemporaryDirectory folder_;
};

TEST_F(MergeErrors, a_missing_part_is_named) {
  const Arguments some = {part("1/3", "a.vpart"), part("3/3", "c.vpart")};
  expect_error(run_vernier(with({"merge"}, some)), "missing: 2/3;");
  const CompletedProcess outcome = run_vernier(with({"merge", "--allow-missing"}, some));
  EXPECT_EQ(outcome.exit_code, 3) << outcome.out;
  EXPECT_THAT(outcome.out, HasSubstr("INCONCLUSIVE"));
  EXPECT_THAT(outcome.out, HasSubstr("4 of 6 samples"));
  EXPECT_THAT(outcome.err, HasSubstr("missing: 2/3"));
  expect_error(run_vernier({"merge", some[0], part("2/2", "d.vpart")}), "missing: samples 2 to 2");
}

TEST_F(MergeErrors, a_doubled_part_is_named) {
  const std::string first = part("1/2", "a.vpart"), same = part("1/2", "b.vpart");
  expect_error(run_vernier({"merge", first, part("2/2", "c.vpart"), same}),
               "a.vpart and " + same + " hold the same samples, 0 is the first");
}

TEST_F(MergeErrors, a_foreign_part_is_named_with_what_differs) {
  const std::string first = part("1/2", "a.vpart");
  expect_error(run_vernier({"merge", first, part("2/2", "b.vpart", {"--fail-if", "mse>1"})}),
               "b.vpart: does not belong to the others: not the same options");
}

TEST_F(MergeErrors, a_model_that_changed_since_is_noticed) {
  std::filesystem::copy_file(mnist_int8, path("model.onnx"));
  const std::string file = path("part.vpart");
  EXPECT_EQ(run_vernier({"eval", path("model.onnx"), "--reference", mnist_cnn, "--input-data",
                         mnist_inputs, "--shard", "1/1", "-o", file})
                .exit_code,
            0);
  std::filesystem::copy_file(mnist_cnn, path("model.onnx"),
                             std::filesystem::copy_options::overwrite_existing);
  expect_error(run_vernier({"merge", file}), "not the same candidate");
}

TEST_F(MergeErrors, a_part_that_is_cut_off_is_named) {
  const std::string whole = part("1/2", "a.vpart"), cut = part("2/2", "b.vpart");
  std::filesystem::resize_file(cut, std::filesystem::file_size(cut) - 1);
  expect_error(run_vernier({"merge", whole, cut}),
               "b.vpart: is cut off after 3 records; measure it again with --shard 2/2");
  std::filesystem::resize_file(cut, 20);
  expect_error(run_vernier({"merge", whole, cut}), "b.vpart: is cut off in its first lines");
}

TEST_F(MergeErrors, other_files_are_no_parts) {
  expect_error(run_vernier({"merge", mnist_int8}), "is no part of a measurement");
  std::ofstream(path("new.vpart")) << "vernier part 99\n{}\n";
  expect_error(run_vernier({"merge", path("new.vpart")}),
               "has version 99, this program reads " + std::to_string(part_version));
  expect_error(run_vernier({"merge", path("none.vpart")}), "none.vpart");
}

TEST_F(MergeErrors, a_part_from_a_stranger_runs_nothing_and_writes_nothing) {
  const auto merge = [&](const std::string& command, const std::string& argument) {
    const Json header = {{"command", command},      {"arguments", {argument}}, {"folder", path("")},
                         {"facts", Json::object()}, {"samples", {{"", 1}}},    {"shard", {1, 1}}};
    // A whole part: the record that ends it says that there is none before it.
    std::filesystem::copy_file(part("1/1", "own.vpart"), path("own"),
                               std::filesystem::copy_options::overwrite_existing);
    const std::string own = read_text(path("own"));
    const std::string records = own.substr(own.find('\n', own.find('\n') + 1) + 1);
    std::ofstream(path("theirs.vpart"))
        << own.substr(0, own.find('\n') + 1) << header.dump() << "\n"
        << records;
    return run_vernier({"merge", path("theirs.vpart")});
  };
  expect_error(merge("convert", "--output=" + path("a.onnx")), "is none that measures parts");
  for (const std::string argument : {"--output=x", "--save-inputs=x", "-o", "x"})
    expect_error(merge("eval", argument), "has '" + argument + "', as no part does");
  for (const std::string argument :
       {"--onnxruntime=./evil.so", "--python=./evil", "--reference=evil.py:model"})
    expect_error(merge("eval", argument), "loads code, " + argument + "; pass --allow-code");
}

TEST_F(MergeErrors, a_shard_is_a_number_of_a_count_and_goes_to_a_part) {
  const Arguments eval = {"eval", mnist_int8, "--reference", mnist_cnn, "--samples", "2"};
  for (const char* shard : {"0/2", "3/2", "1", "a/b", "1/2/3", ""})
    if (*shard)
      expect_error(run_vernier(with(eval, {"--shard", shard, "-o", path("a.vpart")})),
                   "expected NUMBER/COUNT, counted from 1, as in 3/16");
  expect_error(run_vernier(with(eval, {"--shard", "1/2", "-o", path("a.json")})),
               "a part is not a result");
  expect_error(run_vernier(with(eval, {"--shard", "1/2"})), "-o is missing");
}

TEST_F(MergeErrors, a_checkpoint_that_cannot_be_written_is_an_error) {
  std::ofstream(path("file")) << "x";
  expect_error(run_vernier({"eval", mnist_int8, "--reference", mnist_cnn, "--samples", "2",
                            "--checkpoint", path("file")}),
               "[checkpoint] " + path("file"));
}

TEST_F(MergeErrors, text_is_rendered_as_of_the_whole) {
  const Arguments files = {part("1/2", "a.vpart"), part("2/2", "b.vpart")};
  const CompletedProcess whole = run_vernier({"eval", mnist_int8, "--reference", mnist_cnn,
                                              "--input-data", mnist_inputs, "--samples", "6"});
  const CompletedProcess merged = run_vernier(with({"merge"}, files));
  EXPECT_EQ(merged.out, whole.out);
  EXPECT_EQ(merged.exit_code, whole.exit_code);
  const CompletedProcess elsewhere =
      run_vernier(with({"merge", "-f", "md"}, files), folder_.path());
  EXPECT_THAT(elsewhere.out, HasSubstr("|"));
}

}  // namespace
}  // namespace vernier
