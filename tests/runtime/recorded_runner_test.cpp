#include "vernier/runtime/recorded_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/arrays.h"
#include "tests/temporary_directory.h"
#include "vernier/error.h"

namespace vernier {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

struct RecordedRunnerTest : ::testing::Test {
  TemporaryDirectory folder_;
};

TEST_F(RecordedRunnerTest, replays_samples_in_order_and_from_where_it_is_told) {
  RecordedRunner runner(write_npz(folder_ / "a.npz", {ramp("y", {3, 1, 2})}));
  EXPECT_EQ(runner.size(), 3);
  EXPECT_EQ(runner.outputs(), (std::vector<TensorSpec>{{"y", DType::f32, {{1, ""}, {2, ""}}}}));
  EXPECT_TRUE(runner.inputs().empty());
  EXPECT_THAT(runner.run(), ElementsAre(ramp("y", {1, 2}, 0)));
  EXPECT_THAT(runner.run(), ElementsAre(ramp("y", {1, 2}, 2)));
  runner.seek(0);
  EXPECT_THAT(runner.run(), ElementsAre(ramp("y", {1, 2}, 0)));
  runner.seek(2);
  EXPECT_THAT(runner.run(), ElementsAre(ramp("y", {1, 2}, 4)));
}

TEST_F(RecordedRunnerTest, the_observer_sees_every_array_in_the_order_of_the_file) {
  const auto path =
      write_npz(folder_ / "a.npz", {ramp("middle", {2, 4}), ramp("y", {2, 1}), ramp("b", {2, 1})});
  RecordedRunner runner(path, {.outputs = {"b", "y"}});
  std::vector<std::string> seen;
  const auto outputs =
      runner.run({}, [&](const TensorView& tensor) { seen.emplace_back(tensor.name); });
  EXPECT_THAT(seen, ElementsAre("middle", "y", "b"));
  EXPECT_THAT(outputs, ElementsAre(ramp("b", {1}), ramp("y", {1})));
}

TEST_F(RecordedRunnerTest, a_folder_replays_its_files) {
  write_npz(folder_ / "2.npz", {ramp("y", {2}, 2)});
  write_npz(folder_ / "10.npz", {ramp("y", {3}, 10)});
  RecordedRunner runner(folder_.path());
  EXPECT_THAT(runner.run(), ElementsAre(ramp("y", {2}, 2)));
  EXPECT_THAT(runner.run(), ElementsAre(ramp("y", {3}, 10)));
}

TEST_F(RecordedRunnerTest, a_sample_that_was_not_recorded_is_an_error) {
  RecordedRunner runner(write_npz(folder_ / "a.npz", {ramp("y", {1, 2})}));
  runner.run();
  EXPECT_THAT([&] { runner.run(); },
              ThrowsMessage<Error>(HasSubstr("holds 1 sample, number 1 was asked for; record more "
                                             "or pass --samples 1")));
}

TEST_F(RecordedRunnerTest, arrays_must_agree_on_the_number_of_samples) {
  const auto path = write_npz(folder_ / "a.npz", {ramp("y", {2, 2}), ramp("z", {3, 2})});
  EXPECT_THAT([&] { RecordedRunner{path}; },
              ThrowsMessage<Error>(HasSubstr("'y' holds 2 samples, 'z' holds 3")));
}

TEST_F(RecordedRunnerTest, an_empty_file_or_an_unknown_output_is_an_error) {
  const auto empty = write_npz(folder_ / "empty.npz", {});
  EXPECT_THROW(RecordedRunner{empty}, Error);
  const auto path = write_npz(folder_ / "a.npz", {ramp("y", {2, 2})});
  EXPECT_THAT([&] { RecordedRunner(path, {.outputs = {"q"}}); },
              ThrowsMessage<Error>(HasSubstr("has no array 'q', it has y")));
}

}  // namespace
}  // namespace vernier
