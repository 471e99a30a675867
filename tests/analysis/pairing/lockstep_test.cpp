#include "vernier/analysis/pairing/lockstep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/arrays.h"
#include "tests/temporary_directory.h"
#include "vernier/error.h"
#include "vernier/runtime/recorded_runner.h"

namespace vernier {
namespace {

using ::testing::ElementsAre;

// Recorded tensors are shown in the order of their file: any two orders can be tried.
class Lockstep : public ::testing::Test {
 protected:
  RecordedRunner recorded(const std::vector<std::string>& names) {
    std::vector<Tensor> tensors;
    for (const std::string& name : names)
      tensors.push_back(ramp(name, {1, 1000}, static_cast<float>(name[0])));
    return RecordedRunner(write_npz(folder / (std::to_string(files_++) + ".npz"), tensors));
  }

  // The names of the candidate's tensors that were paired, in the order they were seen.
  std::vector<std::string> paired(const std::vector<std::string>& reference,
                                  const std::vector<std::string>& candidate,
                                  const LockstepOptions& options) {
    RecordedRunner reference_runner = recorded(reference), candidate_runner = recorded(candidate);
    std::vector<std::string> names;
    run_lockstep(
        reference_runner, {}, candidate_runner, {},
        [&](const TensorView& tensor, const TakeReference& take) {
          const Tensor* counterpart = take(std::string(tensor.name));
          if (!counterpart) return;
          EXPECT_TRUE(std::ranges::equal(counterpart->bytes, tensor.bytes));
          names.emplace_back(tensor.name);
        },
        options);
    return names;
  }

  TemporaryDirectory folder;
  int files_ = 0;
};

const RequestCounts all = {{"a", 1}, {"b", 1}, {"c", 1}, {"d", 1}};

TEST_F(Lockstep, pairs_meet_in_the_order_of_the_candidate) {
  EXPECT_THAT(paired({"a", "b", "c"}, {"a", "b", "c"}, {.requests = all}),
              ElementsAre("a", "b", "c"));
}

TEST_F(Lockstep, opposite_orders_do_not_lock_even_with_no_room) {
  EXPECT_THAT(
      paired({"a", "b", "c", "d"}, {"d", "c", "b", "a"}, {.requests = all, .ahead_bytes = 0}),
      ElementsAre("d", "c", "b", "a"));
}

TEST_F(Lockstep, a_tensor_that_the_reference_lacks_is_not_waited_for) {
  EXPECT_THAT(paired({"a", "c"}, {"a", "b", "c"}, {.requests = all, .ahead_bytes = 0}),
              ElementsAre("a", "c"));
}

TEST_F(Lockstep, what_is_not_wanted_or_never_taken_does_not_stop_the_reference) {
  EXPECT_THAT(
      paired({"a", "b", "c", "d"}, {"a"}, {.requests = {{"a", 1}, {"b", 1}}, .ahead_bytes = 0}),
      ElementsAre("a"));
}

TEST_F(Lockstep, a_tensor_may_be_wanted_several_times) {
  RecordedRunner reference = recorded({"a"}), candidate = recorded({"b", "c"});
  int taken = 0;
  run_lockstep(reference, {}, candidate, {},
               [&](const TensorView&, const TakeReference& take) { taken += take("a") != nullptr; },
               {.requests = {{"a", 2}}, .ahead_bytes = 0});
  EXPECT_EQ(taken, 2);
}

TEST_F(Lockstep, an_error_in_the_observer_ends_both_runs) {
  RecordedRunner reference = recorded({"a", "b", "c"}), candidate = recorded({"a", "b"});
  const auto fail = [](const TensorView&, const TakeReference&) { throw Error("stop"); };
  EXPECT_THROW(
      run_lockstep(reference, {}, candidate, {}, fail, {.requests = all, .ahead_bytes = 0}), Error);
}

TEST_F(Lockstep, an_error_in_the_reference_reaches_the_caller) {
  RecordedRunner reference = recorded({"a"}), candidate = recorded({"a"});
  reference.run();  // the only sample is gone now
  const auto take_all = [](const TensorView& tensor, const TakeReference& take) {
    take(std::string(tensor.name));
  };
  EXPECT_THROW(run_lockstep(reference, {}, candidate, {}, take_all, {.requests = all}), Error);
}

// All samples go through one object, which keeps its buffers.
TEST_F(Lockstep, sequential_run_gives_the_same_pairs_sample_after_sample) {
  SequentialRun sequential({.requests = {{"a", 2}, {"c", 1}, {"d", 1}}});
  for (int sample = 0; sample < 3; ++sample) {
    RecordedRunner reference = recorded({"a", "b", "c"}), candidate = recorded({"c", "a", "d"});
    std::vector<std::string> names;
    const LockstepOutputs outputs = sequential.run(
        reference, {}, candidate, {}, [&](const TensorView& tensor, const TakeReference& take) {
          EXPECT_EQ(take("b"), nullptr);  // not requested
          const Tensor* counterpart = take(tensor.name);
          if (!counterpart) return;
          EXPECT_TRUE(std::ranges::equal(counterpart->bytes, tensor.bytes));
          names.emplace_back(tensor.name);
          if (tensor.name != "a") return;
          EXPECT_NE(take("a"), nullptr);
          EXPECT_EQ(take("a"), nullptr);  // requested twice, and taken twice
        });
    EXPECT_THAT(names, ElementsAre("c", "a"));
    EXPECT_EQ(outputs.reference.size(), 3u);
    EXPECT_EQ(outputs.reference_bytes, 3 * 4 * 1000);
    EXPECT_EQ(outputs.candidate.size(), 3u);
  }
}

TEST_F(Lockstep, sequential_run_passes_errors_on_and_can_be_used_again) {
  SequentialRun sequential({.requests = {{"a", 1}}});
  RecordedRunner first = recorded({"a"}), second = recorded({"a"});
  EXPECT_THROW(sequential.run(first, {}, second, {},
                              [](const TensorView&, const TakeReference&) { throw Error("stop"); }),
               Error);
  RecordedRunner reference = recorded({"a"}), candidate = recorded({"a"});
  int taken = 0;
  sequential.run(reference, {}, candidate, {}, [&](const TensorView&, const TakeReference& take) {
    taken += take("a") != nullptr;
  });
  EXPECT_EQ(taken, 1);
}

// Takes its input and shows nothing.
class Echo : public Runner {
 public:
  const std::vector<TensorSpec>& inputs() const override { return inputs_; }
  const std::vector<TensorSpec>& outputs() const override { return inputs_; }
  std::vector<Tensor> run(std::span<const Tensor> inputs, const Observer&) override {
    return {inputs.begin(), inputs.end()};
  }

 private:
  std::vector<TensorSpec> inputs_ = {{"x", DType::f32, {{2}}}};
};

TEST_F(Lockstep, inputs_are_shown_by_the_names_that_each_model_gives_them) {
  Echo reference, candidate;
  const std::vector<Tensor> sample = {ramp("named by the caller", {2})};
  LockstepOptions options{.requests = {{"x", 1}}};
  std::vector<std::string> seen, produced;
  options.observe_reference = [&](const TensorView& tensor) { produced.emplace_back(tensor.name); };
  const auto observe = [&](const ObservedTensor& tensor, const TakeReference& take) {
    if (take(tensor.name)) seen.emplace_back(tensor.name);
    EXPECT_TRUE(tensor.writable.empty());
  };
  run_lockstep(reference, sample, candidate, sample, observe, options);
  SequentialRun(options).run(reference, sample, candidate, sample, observe);
  EXPECT_THAT(seen, ElementsAre("x", "x"));
  EXPECT_THAT(produced, ElementsAre());  // an input is not produced
}

// As a PyTorch model with self.x and forward(self, x).
class Namesake : public Echo {
 public:
  std::vector<WatchedTensor> watched() const override { return {{.name = "x"}}; }
  std::vector<Tensor> run(std::span<const Tensor> inputs, const Observer& observer) override {
    const Tensor produced = ramp("x", {3});
    if (observer) observer({TensorView(produced)});
    return {inputs.begin(), inputs.end()};
  }
};

TEST_F(Lockstep, an_input_is_not_shown_for_the_module_that_has_its_name) {
  Namesake reference;
  Echo candidate;
  const std::vector<Tensor> sample = {ramp("x", {2})};
  const LockstepOptions options{.requests = {{"x", 1}}};
  std::vector<Shape> taken;
  const auto observe = [&](const ObservedTensor&, const TakeReference& take) {
    if (const Tensor* reference_tensor = take("x")) taken.push_back(reference_tensor->shape);
  };
  run_lockstep(reference, sample, candidate, sample, observe, options);
  SequentialRun(options).run(reference, sample, candidate, sample, observe);
  EXPECT_THAT(taken, ElementsAre(Shape{3}, Shape{3}));
}

TEST_F(Lockstep, the_outputs_of_both_are_returned) {
  RecordedRunner reference = recorded({"a"}), candidate = recorded({"b"});
  const LockstepOutputs outputs = run_lockstep(reference, {}, candidate, {},
                                               [](const TensorView&, const TakeReference&) {}, {});
  EXPECT_EQ(outputs.reference[0].name, "a");
  EXPECT_EQ(outputs.reference_bytes, 4 * 1000);
  EXPECT_EQ(outputs.candidate[0].name, "b");
}

}  // namespace
}  // namespace vernier
