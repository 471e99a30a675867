#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>

#include "tests/cli/run.h"
#include "tests/temporary_directory.h"
#include "vernier/tensor/npy.h"
#include "vernier/tensor/npz.h"

namespace vernier {
namespace {

using testing::CompletedProcess;
using testing::expect_error;
using testing::expect_golden;
using testing::expect_valid_json;
using testing::read_text;
using testing::run_vernier;

Tensor make(const std::string& name, Shape shape, std::vector<float> values) {
  Tensor tensor = make_tensor(name, DType::f32, std::move(shape));
  std::ranges::copy(values, elements<float>(tensor).begin());
  return tensor;
}

void write(const std::string& path, const std::vector<Tensor>& tensors) {
  NpzWriter writer(path);
  for (const Tensor& tensor : tensors) writer.add(tensor.name, tensor);
  writer.finish();
}

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float inf = std::numeric_limits<float>::infinity();

// Two archives with every kind of row: exact, close, NaN, infinite, permuted, of another shape, of
// another dtype, missing on either side.
class Diff : public ::testing::Test {
 protected:
  void SetUp() override {
    const Tensor close = make("close", {2, 2}, {1, 2, 3, 4});
    const std::vector<float> cube = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    const std::vector<float> transposed = {1, 4, 7, 10, 2, 5, 8, 11, 3, 6, 9, 12};
    write(folder / "reference.npz",
          {make("same", {2, 2}, {1, 2, 3, 4}), close, make("nan", {2, 2}, {1, 2, 3, 4}),
           make("inf", {2, 2}, {1, 2, 3, 4}), make("turned", {2, 2, 3}, cube),
           make("shape", {2, 2}, {1, 2, 3, 4}), make("dtype", {2, 2}, {1, 2, 3, 4}),
           make("gone", {1}, {1})});
    Tensor doubles = make_tensor("dtype", DType::f64, {2, 2});
    std::ranges::copy(std::vector<double>{1, 2, 3, 4.5}, elements<double>(doubles).begin());
    write(folder / "candidate.npz",
          {make("same", {2, 2}, {1, 2, 3, 4}), make("close", {2, 2}, {1, 2, 3, 4.5F}),
           make("nan", {2, 2}, {1, nan, 3, 4}), make("inf", {2, 2}, {1, 2, inf, 4}),
           make("turned", {3, 2, 2}, transposed), make("shape", {2, 3}, {1, 2, 3, 4, 5, 6}),
           doubles, make("new", {1}, {1})});
  }

  CompletedProcess diff(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"diff", "reference.npz", "candidate.npz"});
    return run_vernier(arguments, folder.path());
  }

  TemporaryDirectory folder;
};

TEST_F(Diff, text_shows_every_kind_of_row) {
  const CompletedProcess outcome = diff({});
  expect_golden("diff.txt", outcome.out);
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(outcome.err, "");
}

TEST_F(Diff, markdown_shows_every_kind_of_row) { expect_golden("diff.md", diff({"-f", "md"}).out); }

TEST_F(Diff, json_shows_every_kind_of_row) { expect_golden("diff.json", diff({"-f", "json"}).out); }

TEST_F(Diff, samples_axis_gives_statistics) {
  expect_golden("diff_samples.txt", diff({"--samples-axis", "0"}).out);
  const std::string json = diff({"--samples-axis", "0", "-f", "json"}).out;
  expect_golden("diff_samples.json", json);
  expect_valid_json("diff", json);
}

TEST_F(Diff, top_shows_the_worst_first) { expect_golden("diff_top.txt", diff({"--top", "3"}).out); }

TEST_F(Diff, output_goes_to_the_file_and_its_ending_chooses_the_format) {
  const CompletedProcess outcome = diff({"-o", "out.json"});
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(read_text(folder / "out.json"), diff({"-f", "json"}).out);
}

TEST_F(Diff, two_npy_files_are_one_pair_whatever_their_names) {
  write_npy(folder / "a.npy", make("", {2}, {1, 2}));
  write_npy(folder / "b.npy", make("", {2}, {1, 2}));
  const CompletedProcess outcome = run_vernier({"diff", folder / "a.npy", folder / "b.npy"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_NE(outcome.out.find("no limits were given"), std::string::npos) << outcome.out;
  EXPECT_EQ(outcome.out.find("PASS"), std::string::npos) << outcome.out;
}

TEST_F(Diff, an_archive_compares_with_a_folder_of_npy_files) {
  std::filesystem::create_directory(folder / "arrays");
  write_npy(folder / "arrays/x.npy", make("", {2}, {1, 2}));
  write(folder / "x.npz", {make("x", {2}, {1, 2})});
  EXPECT_EQ(run_vernier({"diff", folder / "x.npz", folder / "arrays"}).exit_code, 0);
}

TEST_F(Diff, missing_arrays_fail_unless_allowed) {
  write(folder / "both.npz", {make("x", {1}, {1}), make("y", {1}, {1})});
  write(folder / "one.npz", {make("x", {1}, {1})});
  const std::string both = folder / "both.npz", one = folder / "one.npz";
  EXPECT_EQ(run_vernier({"diff", both, one}).exit_code, 1);
  EXPECT_EQ(run_vernier({"diff", one, both}).exit_code, 1);
  EXPECT_EQ(run_vernier({"diff", one, both, "--allow-missing"}).exit_code, 0);
}

TEST_F(Diff, limits_decide_the_exit_code) {
  write(folder / "a.npz", {make("x", {2}, {1, 2}), make("y", {2}, {1, 2})});
  write(folder / "b.npz", {make("x", {2}, {1, 2.5F}), make("y", {2}, {1, 2})});
  const auto code = [&](const std::string& limit) {
    return run_vernier({"diff", folder / "a.npz", folder / "b.npz", "--fail-if", limit}).exit_code;
  };
  EXPECT_EQ(code("max_abs_diff>1"), 0);
  EXPECT_EQ(code("max_abs_diff>0.1"), 1);
  EXPECT_EQ(code("x:max_abs_diff>0.1"), 1);
  EXPECT_EQ(code("y:max_abs_diff>0.1"), 0);
  EXPECT_EQ(code("sqnr_db_mean<20"), 1);
}

TEST_F(Diff, what_cannot_be_read_is_a_one_line_error) {
  std::ofstream(folder / "broken.npz") << "PK but no archive";
  std::ofstream(folder / "other.txt") << "text";
  std::filesystem::create_directory(folder / "empty");
  const std::string good = folder / "reference.npz";
  expect_error(run_vernier({"diff", good, folder / "broken.npz"}), "broken.npz");
  expect_error(run_vernier({"diff", good, folder / "nowhere.npz"}), "nowhere.npz");
  expect_error(run_vernier({"diff", good, folder / "other.txt"}), "expected .npy");
  expect_error(run_vernier({"diff", good, folder / "empty"}), "no .npy files");
}

TEST_F(Diff, a_wrong_limit_or_output_is_found_before_the_work) {
  expect_error(diff({"--fail-if", "typo>1"}), "typo");
  expect_error(diff({"--fail-if", "nobody:mse>1"}), "nobody");
  expect_error(diff({"-o", "no/such/folder/x.json"}), "no folder");
}

}  // namespace
}  // namespace vernier
