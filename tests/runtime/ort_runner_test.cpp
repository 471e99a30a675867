#include "vernier/runtime/ort_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <fstream>
#include <thread>

#include "tests/fixture.h"
#include "tests/model_builder.h"
#include "tests/temporary_directory.h"
#include "vernier/error.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAreArray;

Tensor floats(const std::string& name, Shape shape) {
  Tensor tensor = make_tensor(name, DType::f32, std::move(shape));
  int index = 0;
  for (float& element : elements<float>(tensor)) element = 0.01f * static_cast<float>(++index % 97);
  return tensor;
}

GraphBuilder chain() {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{2}}).output("y", DType::f32, {{2}});
  builder.node("Neg", {"x"}, {"a"}).node("Abs", {"a"}, {"b"}).node("Relu", {"b"}, {"y"});
  return builder;
}

std::vector<std::string> seen_by(OrtRunner& runner, const std::vector<Tensor>& inputs) {
  std::vector<std::string> names;
  runner.run(inputs, [&](const TensorView& tensor) { names.emplace_back(tensor.name); });
  return names;
}

std::vector<std::string> seen_of_chain(OrtOptions options) {
  OrtRunner runner(chain().model(), std::move(options));
  return seen_by(runner, {floats("x", {2})});
}

std::string error_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(OrtRunner, watches_what_it_is_told_to) {
  EXPECT_THAT(seen_of_chain({}), IsEmpty());
  EXPECT_THAT(seen_of_chain({.watch = Watch::outputs()}), ElementsAre("y"));
  EXPECT_THAT(seen_of_chain({.watch = Watch::all()}), ElementsAre("a", "b", "y"));
  EXPECT_THAT(seen_of_chain({.watch = Watch::only({"b", "a"})}), ElementsAre("a", "b"));
  EXPECT_THAT(seen_of_chain({.watch = Watch::glob("[ab]")}), ElementsAre("a", "b"));
  EXPECT_THAT(seen_of_chain({.watch = Watch::glob("z*")}), IsEmpty());
}

// x -> Neg -> a -> QuantizeLinear -> q -> DequantizeLinear -> b -> Relu -> y
Model quantized_chain() {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{2}}).output("y", DType::f32, {{2}});
  builder.weight(tensor_of<float>("s", DType::f32, {}, {0.5f}));
  builder.node("Neg", {"x"}, {"a"}).node("QuantizeLinear", {"a", "s"}, {"q"});
  builder.node("DequantizeLinear", {"q", "s"}, {"b"}).node("Relu", {"b"}, {"y"});
  return builder.model();
}

TEST(OrtRunner, what_goes_into_a_quantizer_stays_until_what_comes_out_is_shown) {
  OrtRunner runner(quantized_chain(), {.watch = Watch::only({"a", "b"})});
  EXPECT_THAT(runner.watched(), ElementsAre(WatchedTensor{"a"}, WatchedTensor{"b"}));
  ObservedTensor before;
  std::vector<std::string> names;
  runner.run(std::vector{tensor_of<float>("x", DType::f32, {2}, {-0.7f, -2})},
             [&](const ObservedTensor& tensor) {
               names.emplace_back(tensor.name);
               if (tensor.name == "a") {
                 EXPECT_EQ(tensor.stays_until, "b");
                 EXPECT_THAT(tensor.writable, IsEmpty());
                 before = tensor;
                 return;
               }
               EXPECT_THAT(elements<float>(before), ElementsAre(0.7f, 2));
               EXPECT_THAT(elements<float>(tensor), ElementsAre(0.5f, 2));
               EXPECT_EQ(tensor.stays_until, "");
             });
  EXPECT_THAT(names, ElementsAre("a", "b"));
}

// Of a graph that the optimiser has changed, who knows what is there until when.
TEST(OrtRunner, nothing_stays_in_an_optimised_graph) {
  OrtRunner runner(quantized_chain(),
                   {.watch = Watch::only({"a", "b"}), .optimization = Optimization::basic});
  runner.run(std::vector{floats("x", {2})},
             [](const ObservedTensor& tensor) { EXPECT_EQ(tensor.stays_until, ""); });
}

TEST(OrtRunner, what_an_observer_writes_is_what_the_readers_get) {
  OrtRunner runner(chain().model(), {.watch = Watch::all()});
  const auto outputs = runner.run(std::vector{tensor_of<float>("x", DType::f32, {2}, {1, 2})},
                                  [](const ObservedTensor& tensor) {
                                    if (tensor.name != "a") return;
                                    ASSERT_EQ(tensor.writable.size(), 8u);
                                    reinterpret_cast<float*>(tensor.writable.data())[1] = 30;
                                  });
  EXPECT_THAT(elements<float>(outputs[0].view()), ElementsAre(1, 30));
}

// Reshape hands its input's memory on: to write into the one must not change the other.
TEST(OrtRunner, what_an_observer_writes_is_seen_by_nobody_else) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{2}}).weight(tensor_of<float>("w", DType::f32, {2}, {5, 6}));
  builder.weight(tensor_of<std::int64_t>("shape", DType::i64, {2}, {1, 2}));
  builder.node("Abs", {"x"}, {"a"}).node("Reshape", {"a", "shape"}, {"b"});
  builder.node("Squeeze", {"b"}, {"c"}).node("Add", {"c", "a"}, {"y"}).output("y");
  builder.node("Identity", {"w"}, {"v"}).node("Neg", {"v"}, {"z"}).output("z");
  OrtRunner runner(builder.model(), {.watch = Watch::only({"b", "c", "v"})});
  const std::vector<Tensor> input = {tensor_of<float>("x", DType::f32, {2}, {1, 2})};
  const std::vector<Tensor> untouched = runner.run(input, [](const TensorView&) {});
  const auto written = runner.run(input, [](const ObservedTensor& tensor) {
    ASSERT_EQ(tensor.writable.size(), 8u);
    reinterpret_cast<float*>(tensor.writable.data())[0] = 30;
  });
  EXPECT_THAT(elements<float>(written[0].view()), ElementsAre(31, 4));
  EXPECT_THAT(elements<float>(written[1].view()), ElementsAre(-30, -6));
  EXPECT_EQ(runner.run(input, [](const TensorView&) {}), untouched);  // the weight too
}

TEST(OrtRunner, a_name_that_no_node_writes_is_an_error) {
  EXPECT_THAT(error_of([] { seen_of_chain({.watch = Watch::only({"nowhere"})}); }),
              HasSubstr("built.onnx: no node writes a tensor 'nowhere'"));
}

TEST(OrtRunner, results_are_the_models) {
  OrtRunner runner(chain().model(), {.watch = Watch::all()});
  const Tensor x = tensor_of<float>("x", DType::f32, {2}, {1, -2});
  std::vector<Tensor> seen;
  const auto outputs =
      runner.run(std::vector{x}, [&](const TensorView& view) { seen.push_back(copy(view)); });
  EXPECT_THAT(outputs, ElementsAre(tensor_of<float>("y", DType::f32, {2}, {1, 2})));
  EXPECT_EQ(seen[0], tensor_of<float>("a", DType::f32, {2}, {-1, 2}));
  EXPECT_EQ(runner.inputs(), chain().model().inputs());
  EXPECT_EQ(runner.outputs(), chain().model().outputs());
}

TEST(OrtRunner, may_be_run_without_an_observer_and_again_with_one) {
  OrtRunner runner(chain().model(), {.watch = Watch::all()});
  runner.run(std::vector{floats("x", {2})});
  EXPECT_EQ(seen_by(runner, {floats("x", {2})}).size(), 3u);
  EXPECT_EQ(seen_by(runner, {floats("x", {2})}).size(), 3u);
}

TEST(OrtRunner, what_the_observer_throws_reaches_the_caller) {
  OrtRunner runner(chain().model(), {.watch = Watch::all()});
  int calls = 0;
  const auto run = [&] {
    runner.run(std::vector{floats("x", {2})}, [&](const TensorView&) {
      if (++calls == 2) throw std::out_of_range("enough");
    });
  };
  EXPECT_THROW(run(), std::out_of_range);
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(seen_by(runner, {floats("x", {2})}).size(), 3u);
}

TEST(OrtRunner, threads_that_share_it_see_their_own_samples) {
  OrtRunner runner(chain().model(), {.watch = Watch::all()});
  std::vector<std::jthread> threads;
  std::atomic<int> wrong = 0, seen = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      Tensor input = make_tensor("x", DType::f32, {2});
      elements<float>(input)[0] = static_cast<float>(t);
      for (int i = 0; i < 200; ++i)
        runner.run(std::vector{input}, [&](const TensorView& tensor) {
          ++seen;
          wrong += std::fabs(elements<float>(tensor)[0]) != static_cast<float>(t);
        });
    });
  threads.clear();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(seen, 4 * 200 * 3);
}

TEST(OrtRunner, may_be_run_from_within_an_observer) {
  OrtRunner outer(chain().model(), {.watch = Watch::only({"a"})});
  OrtRunner inner(chain().model(), {.watch = Watch::only({"b", "y"})});
  std::vector<std::string> names;
  outer.run(std::vector{floats("x", {2})}, [&](const TensorView& tensor) {
    names.emplace_back(tensor.name);
    for (const std::string& name : seen_by(inner, {floats("x", {2})})) names.push_back(name);
  });
  EXPECT_THAT(names, ElementsAre("a", "b", "y"));
}

TEST(OrtRunner, runners_can_be_made_at_the_same_time) {
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([] { EXPECT_EQ(seen_of_chain({.watch = Watch::all()}).size(), 3u); });
}

TEST(OrtRunner, runs_after_it_was_moved) {
  OrtRunner first(chain().model(), {.watch = Watch::all()});
  OrtRunner second = std::move(first);
  EXPECT_EQ(seen_by(second, {floats("x", {2})}).size(), 3u);
}

TEST(OrtRunner, outputs_without_a_type_take_the_inferred_one) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{-1, "n"}, {3}}).node("Neg", {"x"}, {"y"}).output("y");
  OrtRunner runner(builder.model());
  EXPECT_THAT(runner.outputs(), ElementsAre(TensorSpec{"y", DType::f32, {{-1, "n"}, {3}}}));
  EXPECT_EQ(runner.run(std::vector{floats("x", {2, 3})})[0].shape, (Shape{2, 3}));
}

TEST(OrtRunner, outputs_that_are_no_tensors_are_skipped_and_listed) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{2}}).node("SequenceConstruct", {"x"}, {"s"}).output("s");
  OrtRunner runner(builder.model());
  EXPECT_THAT(runner.unwatched(), ElementsAre(UnwatchedTensor{"s", "a sequence, not a tensor"}));
  EXPECT_THAT(runner.run(std::vector{floats("x", {2})}), IsEmpty());
}

TEST(OrtRunner, inputs_that_are_no_tensors_are_an_error) {
  GraphBuilder builder = chain();
  auto& input = *builder.graph().add_input();
  input.set_name("s");
  input.mutable_type()->mutable_sequence_type();
  EXPECT_EQ(
      error_of([&] { OrtRunner runner(builder.model()); }),
      "[onnxruntime] built.onnx: input 's' has type sequence; only tensors of numbers can be fed");
}

TEST(OrtRunner, errors_are_one_line_and_name_the_node) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{-1, "n"}});
  builder.weight(tensor_of<std::int64_t>("two", DType::i64, {1}, {2}));
  builder.node("Reshape", {"x", "two"}, {"y"}).output("y");
  OrtRunner runner(builder.model());
  const std::string error = error_of([&] { runner.run(std::vector{floats("x", {3})}); });
  EXPECT_THAT(error, AllOf(HasSubstr("[onnxruntime] built.onnx: node 'node_1' (Reshape): "),
                           Not(HasSubstr("\n"))));
}

TEST(OrtRunner, a_wrong_number_of_inputs_is_an_error) {
  OrtRunner runner(chain().model());
  EXPECT_EQ(error_of([&] { runner.run({}); }),
            "[onnxruntime] built.onnx: has 1 inputs, 0 were given");
}

TEST(OrtRunner, models_that_onnxruntime_refuses_give_one_line) {
  for (const std::string name : {"opset_314159.onnx", "unknown_op.onnx"}) {
    const std::string error =
        error_of([&] { OrtRunner runner(Model::load(fixture("bad/" + name))); });
    EXPECT_THAT(error, AllOf(HasSubstr("[onnxruntime] "), HasSubstr(name), Not(HasSubstr("\n")),
                             Not(HasSubstr("/proc/"))))
        << name;
  }
}

TEST(OrtRunner, providers_that_are_not_in_the_build_are_refused_with_those_that_are) {
  const auto available = available_providers();
  EXPECT_THAT(available, testing::Contains("cpu"));
  const std::string error = error_of([] { seen_of_chain({.provider = "abacus"}); });
  EXPECT_THAT(error, AllOf(HasSubstr("execution provider 'abacus': not in this build, which has "),
                           HasSubstr("cpu")));
  EXPECT_THAT(seen_of_chain({.watch = Watch::all(), .provider = "CPUExecutionProvider"}),
              testing::SizeIs(3));
}

TEST(OrtRunner, providers_whose_library_is_missing_say_so) {
  for (const std::string& provider : available_providers()) {
    if (provider == "cpu") continue;
    const std::string error = error_of([&] { seen_of_chain({.provider = provider}); });
    if (error.empty()) continue;
    EXPECT_THAT(error, AllOf(HasSubstr(provider), HasSubstr("in this build but cannot be used")));
  }
}

TEST(OrtRunner, an_index_beyond_an_axis_of_one_comes_with_a_shape_to_pass) {
  const Model model = GraphBuilder()
                          .input("x", DType::f32, {{-1, "nodes"}, {2, ""}})
                          .input("i", DType::i64, {{1, ""}})
                          .node("Gather", {"x", "i"}, {"y"})
                          .output("y")
                          .model();
  OrtRunner runner(model.clone());
  const std::vector<Tensor> inputs = {floats("x", {1, 2}),
                                      tensor_of<std::int64_t>("i", DType::i64, {1}, {1})};
  EXPECT_THAT([&] { runner.run(inputs); },
              testing::ThrowsMessage<Error>(HasSubstr("pass its size, as in --shape x=16x2")));
}

TEST(OrtRunner, external_data_is_run_where_it_is) {
  const TemporaryDirectory folder;
  GraphBuilder builder;
  builder.input("x", DType::f32, {{2}}).weight(tensor_of<float>("w", DType::f32, {2}, {10, 20}));
  builder.node("Add", {"x", "w"}, {"y"}).output("y", DType::f32, {{2}});
  auto proto = builder.proto();
  const float values[] = {1, 2};
  std::ofstream(folder / "w.bin", std::ios::binary).write(reinterpret_cast<const char*>(values), 8);
  set_external_data(*proto.mutable_graph()->mutable_initializer(0), {"w.bin", 0, 8});
  std::ofstream(folder / "m.onnx", std::ios::binary) << proto.SerializeAsString();
  OrtRunner runner(Model::load(folder / "m.onnx"), {.watch = Watch::all()});
  EXPECT_EQ(runner.run(std::vector{tensor_of<float>("x", DType::f32, {2}, {1, 1})})[0],
            tensor_of<float>("y", DType::f32, {2}, {2, 3}));

  set_external_data(*proto.mutable_graph()->mutable_initializer(0), {"../w.bin", 0, 8});
  std::ofstream(folder / "m.onnx", std::ios::binary) << proto.SerializeAsString();
  EXPECT_THAT(error_of([&] { OrtRunner refused(Model::load(folder / "m.onnx")); }),
              HasSubstr("'..'"));
}

// Bytes of a mapped file that are no longer there read as zeros in its last page.
TEST(OrtRunner, external_data_that_changes_while_it_is_in_use_is_an_error) {
  const TemporaryDirectory folder;
  constexpr std::int64_t count = 500;
  const auto write = [&](const fs::path& path) {
    const std::vector<float> values(count, 1);
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(values.data()), count * 4);
    // So that what is written next is later, however coarse the clock is.
    fs::last_write_time(path, fs::last_write_time(path) - std::chrono::hours(1));
  };
  write(folder / "w.bin");
  GraphBuilder builder;
  builder.input("x", DType::f32, {{count}}).weight(make_tensor("w", DType::f32, {count}));
  builder.node("Add", {"x", "w"}, {"y"}).output("y", DType::f32, {{count}});
  auto proto = builder.proto();
  set_external_data(*proto.mutable_graph()->mutable_initializer(0), {"w.bin", 0, count * 4});
  std::ofstream(folder / "m.onnx", std::ios::binary) << proto.SerializeAsString();
  const Model model = Model::load(folder / "m.onnx");
  OrtRunner runner(model.clone());
  const std::vector<Tensor> inputs = {make_tensor("x", DType::f32, {count})};
  const std::vector<Tensor> outputs = runner.run(inputs);

  fs::rename(folder / "w.bin", folder / "old.bin");
  write(folder / "w.bin");
  EXPECT_EQ(runner.run(inputs), outputs) << "of the file that was replaced";
  OrtRunner cut(Model::load(folder / "m.onnx"));
  fs::resize_file(folder / "w.bin", 100);
  EXPECT_THAT(error_of([&] { cut.run(inputs); }),
              HasSubstr("w.bin: was cut off while it was in use"));
  fs::resize_file(folder / "w.bin", count * 4);
  EXPECT_THAT(error_of([&] { cut.run(inputs); }),
              HasSubstr("w.bin: was changed while it was in use"));
}

TEST(OrtRunner, a_model_file_that_is_cut_off_before_it_is_loaded_is_an_error) {
  const TemporaryDirectory folder;
  GraphBuilder builder;
  builder.input("x", DType::f32, {{800}}).weight(make_tensor("w", DType::f32, {800}));
  builder.node("Add", {"x", "w"}, {"y"}).output("y");
  builder.model().save(folder / "m.onnx");
  const Model model = Model::load(folder / "m.onnx");
  fs::resize_file(folder / "m.onnx", fs::file_size(folder / "m.onnx") - 40);
  EXPECT_THAT(error_of([&] { OrtRunner runner(model.clone()); }),
              HasSubstr("m.onnx: was cut off while it was in use"));
}

// The weight is a sparse file of 2.5 GB of which one row is read.
TEST(OrtRunner, over_two_gigabytes_of_weights_run_with_probes) {
  const TemporaryDirectory folder;
  constexpr std::int64_t rows = std::int64_t{10} << 20;
  std::ofstream(folder / "big.data").put('\0');
  fs::resize_file(folder / "big.data", rows * 64 * 4);
  GraphBuilder builder;
  builder.input("i", DType::i64, {{1}}).output("y", DType::f32, {{1}, {64}});
  builder.weight(make_tensor("table", DType::f32, {1, 64}));
  builder.node("Gather", {"table", "i"}, {"row"}).node("Neg", {"row"}, {"y"});
  auto proto = builder.proto();
  auto& table = *proto.mutable_graph()->mutable_initializer(0);
  table.set_dims(0, rows);
  set_external_data(table, {"big.data", 0, rows * 64 * 4});
  std::ofstream(folder / "m.onnx", std::ios::binary) << proto.SerializeAsString();
  OrtRunner runner(Model::load(folder / "m.onnx"), {.watch = Watch::all()});
  EXPECT_THAT(seen_by(runner, {tensor_of<std::int64_t>("i", DType::i64, {1}, {rows - 1})}),
              ElementsAre("row", "y"));
}

class Fixture : public testing::TestWithParam<std::string> {};

TEST_P(Fixture, gives_the_same_outputs_with_all_probes_as_without) {
  OrtRunner bare(Model::load(fixture(GetParam())), {.optimization = Optimization::disabled});
  OrtRunner probed(Model::load(fixture(GetParam())), {.watch = Watch::all()});
  const std::vector<Tensor> inputs = {floats("input", {1, 1, 28, 28})};
  std::vector<std::string> seen;
  const auto outputs =
      probed.run(inputs, [&](const TensorView& tensor) { seen.emplace_back(tensor.name); });
  EXPECT_EQ(outputs, bare.run(inputs));
  std::vector<std::string> watched;
  for (const WatchedTensor& tensor : probed.watched()) watched.push_back(tensor.name);
  EXPECT_THAT(seen, UnorderedElementsAreArray(watched));
}

INSTANTIATE_TEST_SUITE_P(OrtRunner, Fixture,
                         testing::Values("mnist/mnist_cnn.onnx", "mnist/mnist_vit.onnx",
                                         "mnist/mnist_cnn.int8.onnx"));

}  // namespace
}  // namespace vernier
