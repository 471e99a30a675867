#include "vernier/runtime/isolated_runner.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "tests/failure.h"
#include "tests/small_graphs.h"
#include "vernier/activity.h"
#include "vernier/runtime/ort_runner.h"

namespace vernier {
namespace {

using Cause = ProcessEnded::Cause;

Tensor pair_of(float first, float second) {
  return tensor_of<float>("x", DType::f32, {2}, {first, second});
}

std::unique_ptr<Runner> isolated(const Model& model, const OrtOptions& options = {},
                                 const Isolation& isolation = {}) {
  return open_isolated(
      [&model, options] { return std::make_unique<OrtRunner>(model.clone(), options); }, isolation);
}

// Does what its only input says.
class Obedient : public Runner {
 public:
  enum Order { answer, crash, hang, be_killed, complain };

  const std::vector<TensorSpec>& inputs() const override { return specs_; }
  const std::vector<TensorSpec>& outputs() const override { return specs_; }
  std::vector<Tensor> run(std::span<const Tensor> inputs, const Observer& observer) override {
    const Activity running(ForeignCode::onnxruntime, ForeignWork::running, "obedient.onnx");
    switch (static_cast<int>(elements<float>(inputs[0].view())[0])) {
      case crash: raise(SIGSEGV); break;
      case hang: std::this_thread::sleep_for(std::chrono::hours(1)); break;
      case be_killed: kill(getpid(), SIGKILL); break;
      case complain: throw Error("[test] it complains");
      default: break;
    }
    if (observer) observer({inputs[0].view()});
    return {inputs.begin(), inputs.end()};
  }

 private:
  std::vector<TensorSpec> specs_ = {{"x", DType::f32, {{2}}}};
};

Cause cause_of(Runner& runner, Obedient::Order order) {
  try {
    runner.run(std::vector{pair_of(order, 0)});
  } catch (const ProcessEnded& ended) {
    return ended.cause();
  }
  ADD_FAILURE() << "the process did not end";
  return Cause::crashed;
}

std::unique_ptr<Runner> obedient() { return std::make_unique<Obedient>(); }

TEST(IsolatedRunner, is_like_the_runner_that_it_isolates) {
  const Model model = conditional().model();
  OrtRunner here(model.clone(), {.watch = Watch::all()});
  const auto there = isolated(model, {.watch = Watch::all()});
  EXPECT_EQ(there->inputs(), here.inputs());
  EXPECT_EQ(there->outputs(), here.outputs());
  EXPECT_EQ(there->watched(), here.watched());
  EXPECT_EQ(there->unwatched(), here.unwatched());
  const Tensor yes = tensor_of<bool>("c", DType::boolean, {}, {true});
  const std::vector<Tensor> inputs = {pair_of(-1, 2), yes};
  std::vector<Tensor> seen_here, seen_there;
  const auto expected = here.run(inputs, [&](const auto& t) { seen_here.push_back(copy(t)); });
  const auto found = there->run(inputs, [&](const auto& t) { seen_there.push_back(copy(t)); });
  EXPECT_EQ(found, expected);
  EXPECT_EQ(seen_there, seen_here);
}

TEST(IsolatedRunner, errors_cross_over_and_the_process_goes_on) {
  const auto runner = open_isolated(obedient);
  EXPECT_EQ(failure_of([&] { runner->run(std::vector{pair_of(Obedient::complain, 0)}); }),
            "[test] it complains");
  EXPECT_EQ(runner->run(std::vector{pair_of(Obedient::answer, 7)})[0], pair_of(0, 7));
}

TEST(IsolatedRunner, a_process_that_dies_ends_its_run_alone) {
  int told = 0;
  const auto runner = open_isolated(obedient, {.ended = [&](const ProcessEnded&) { ++told; }});
  EXPECT_EQ(cause_of(*runner, Obedient::crash), Cause::crashed);
  EXPECT_EQ(runner->run(std::vector{pair_of(Obedient::answer, 7)})[0], pair_of(0, 7));
  EXPECT_EQ(cause_of(*runner, Obedient::be_killed), Cause::out_of_memory);
  EXPECT_EQ(told, 2);
}

TEST(IsolatedRunner, a_run_that_does_not_end_is_ended) {
  const auto runner = open_isolated(obedient, {.timeout_seconds = 0.2});
  EXPECT_EQ(cause_of(*runner, Obedient::hang), Cause::timed_out);
}

TEST(IsolatedRunner, what_the_observer_throws_reaches_the_caller) {
  const auto runner = open_isolated(obedient);
  const std::vector<Tensor> inputs = {pair_of(Obedient::answer, 7)};
  EXPECT_THROW(runner->run(inputs, [](const auto&) { throw std::out_of_range("observer"); }),
               std::out_of_range);
  EXPECT_EQ(runner->run(inputs)[0], pair_of(0, 7));
}

TEST(IsolatedRunner, a_model_that_cannot_be_opened_says_why) {
  GraphBuilder wrong;
  wrong.input("x", DType::f32, {{2}}).node("NoSuchOperator", {"x"}, {"y"}).output("y");
  const Model model = wrong.model();
  EXPECT_NE(failure_of([&] { isolated(model); }).find("NoSuchOperator"), std::string::npos);
}

#ifdef __x86_64__  // other processors give a result for the smallest integer divided by -1
GraphBuilder division() {
  GraphBuilder builder;
  builder.input("a", DType::i32, {{1}}).input("b", DType::i32, {{1}});
  builder.node("Neg", {"a"}, {"c"}).node("Neg", {"c"}, {"d"});
  builder.node("Div", {"d", "b"}, {"e"}).node("Abs", {"e"}, {"y"}).output("y");
  return builder;
}

TEST(IsolatedRunner, the_node_that_crashed_is_found_by_a_second_run) {
  const Model model = division().model();
  const auto runner = isolated(model);
  const auto fed = [](std::int32_t a, std::int32_t b) {
    return std::vector{tensor_of<std::int32_t>("a", DType::i32, {1}, {a}),
                       tensor_of<std::int32_t>("b", DType::i32, {1}, {b})};
  };
  const std::string message =
      failure_of([&] { runner->run(fed(std::numeric_limits<std::int32_t>::min(), -1)); });
  EXPECT_EQ(message,
            "[onnxruntime] built.onnx: ONNX Runtime crashed (arithmetic fault: an integer division "
            "that has no result) while it ran node 'node_3' (Div); replace that node, feed other "
            "inputs, or choose another ONNX Runtime with --onnxruntime");
  EXPECT_EQ(elements<std::int32_t>(runner->run(fed(-8, 2))[0].view())[0], 4);
}
#endif

}  // namespace
}  // namespace vernier
