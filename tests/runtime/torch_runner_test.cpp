#include "vernier/runtime/torch_runner.h"

#include <gmock/gmock.h>

#include <cmath>
#include <fstream>

#include "tests/runtime/torch_fixture.h"
#include "tests/temporary_directory.h"
#include "vernier/error.h"
#include "vernier/tensor/npz.h"

namespace vernier {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::ThrowsMessage;

using TorchRunnerTest = TorchTest;

std::unique_ptr<Runner> open(const std::string& name, DType precision = DType::f32) {
  return open_torch_runner({.path = fixture(name), .precision = precision});
}

auto is_error(const std::string& part) {
  return ThrowsMessage<Error>(AllOf(HasSubstr(part), Not(HasSubstr("\n"))));
}

std::vector<std::string> names(const std::vector<TensorSpec>& specs) {
  std::vector<std::string> result;
  for (const TensorSpec& spec : specs) result.push_back(spec.name);
  return result;
}

TEST_F(TorchRunnerTest, outputs_are_those_of_python) {
  const auto inputs = NpzReader(fixture("mnist/mnist_inputs.npz")).read("input");
  const NpzReader expected(fixture("mnist/mnist_reference_outputs.npz"));
  for (const auto& [model, output] :
       {std::pair("mnist_cnn.pt", "logits"), std::pair("mnist_vit.pt", "last_hidden_state")}) {
    const auto outputs = open(std::string("mnist/") + model)->run(std::vector{inputs});
    ASSERT_EQ(outputs.size(), 1u);
    const Tensor python = expected.read(output);
    ASSERT_EQ(outputs[0].shape, python.shape);
    const auto ours = values<float>(outputs[0]);
    const auto theirs = values<float>(python);
    for (std::size_t i = 0; i < ours.size(); ++i) ASSERT_NEAR(ours[i], theirs[i], 1e-5);
  }
}

TEST_F(TorchRunnerTest, nested_outputs_are_named_by_position) {
  const auto runner = open("torch/structures.pt");
  const auto outputs = runner->run(std::vector{torch_input({1, 3}, {1, 2, 3})});
  EXPECT_THAT(names(outputs),
              ElementsAre("output_0", "output_1_0", "output_1_1_0", "output_1_1_1"));
  EXPECT_EQ(names(runner->outputs()), names(outputs));
  EXPECT_TRUE(runner->outputs_are_positional());
}

TEST_F(TorchRunnerTest, the_keys_of_a_dictionary_are_output_names) {
  const auto runner = open("torch/dictionary.pt");
  EXPECT_THAT(names(runner->run(std::vector{torch_input({1}, {1})})),
              ElementsAre("logits", "hidden"));
  EXPECT_THAT(names(runner->outputs()), ElementsAre("logits", "hidden"));
  EXPECT_FALSE(runner->outputs_are_positional());
}

TEST_F(TorchRunnerTest, the_fields_of_a_named_tuple_are_output_names) {
  const auto runner = open("torch/named.pt");
  EXPECT_THAT(names(runner->run(std::vector{torch_input({1}, {1})})), ElementsAre("low", "high"));
  EXPECT_THAT(names(runner->outputs()), ElementsAre("low", "high"));
}

TEST_F(TorchRunnerTest, a_list_built_while_running_gives_as_many_outputs_as_it_has) {
  const auto runner = open("torch/growing_list.pt");
  EXPECT_TRUE(runner->outputs().empty());
  EXPECT_THAT(names(runner->run(std::vector{torch_input({2}, {1, 2})})),
              ElementsAre("output_0", "output_1"));
}

TEST_F(TorchRunnerTest, tensor_inputs_have_the_names_of_the_arguments_and_no_known_rank) {
  const auto runner = open("torch/tokens.pt");
  EXPECT_THAT(runner->inputs(), ElementsAre(TensorSpec{.name = "ids", .ranked = false},
                                            TensorSpec{.name = "mask", .ranked = false}));
}

TEST_F(TorchRunnerTest, numbers_and_tuples_are_fed_from_tensors_and_defaults_are_kept) {
  const auto runner = open("torch/arguments.pt");
  EXPECT_THAT(names(runner->inputs()), ElementsAre("pair_0", "pair_1", "scale", "negate"));
  const std::vector<Tensor> inputs = {torch_input({2}, {1, 2}), torch_input({2}, {10, 20}),
                                      torch_input({}, {3}),
                                      filled<std::uint8_t>("negate", DType::boolean, {}, {1})};
  EXPECT_THAT(values<float>(runner->run(inputs).at(0)), ElementsAre(-14.f, -27.f));
}

TEST_F(TorchRunnerTest, narrow_integers_are_widened_to_int64) {
  const auto runner = open("torch/tokens.pt");
  const Tensor mask = filled<std::uint8_t>("mask", DType::boolean, {1, 2}, {1, 1});
  const auto wide =
      runner->run(std::vector{filled<std::int64_t>("ids", DType::i64, {1, 2}, {4, 1}), mask});
  EXPECT_EQ(runner->run(std::vector{filled<std::int32_t>("ids", DType::i32, {1, 2}, {4, 1}), mask}),
            wide);
  EXPECT_EQ(
      runner->run(std::vector{filled<std::uint16_t>("ids", DType::u16, {1, 2}, {4, 1}), mask}),
      wide);
}

TEST_F(TorchRunnerTest, the_inputs_are_left_as_they_were) {
  const std::vector<Tensor> inputs = {torch_input({1, 2}, {-1, 2})};
  const auto before = inputs;
  open("torch/shared.pt")->run(inputs);
  EXPECT_EQ(inputs, before);
}

TEST_F(TorchRunnerTest, every_run_starts_from_the_state_in_the_file) {
  const auto runner = open("torch/stateful.pt");
  const std::vector<Tensor> inputs = {torch_input({2}, {0, 0})};
  EXPECT_THAT(values<float>(runner->run(inputs).at(0)), ElementsAre(11.f, 1.f));
  EXPECT_THAT(values<float>(runner->run(inputs).at(0)), ElementsAre(11.f, 1.f));
}

TEST_F(TorchRunnerTest, float64_is_the_same_function_with_less_rounding) {
  const std::vector<Tensor> inputs = {make_tensor("x", DType::f32, {1, 1, 28, 28})};
  const auto narrow = values<float>(open("mnist/mnist_vit.pt")->run(inputs).at(0));
  const auto outputs = open("mnist/mnist_vit.pt", DType::f64)->run(inputs);
  ASSERT_EQ(outputs.at(0).dtype, DType::f64);
  const auto wide = values<double>(outputs[0]);
  double largest = 0;
  for (std::size_t i = 0; i < wide.size(); ++i)
    largest = std::max(largest, std::abs(wide[i] - narrow[i]));
  EXPECT_GT(largest, 0);
  EXPECT_LT(largest, 1e-4);
}

TEST_F(TorchRunnerTest, float64_widens_the_float32_that_the_graph_names) {
  const auto runner = open("torch/casts.pt", DType::f64);
  EXPECT_EQ(runner->run(std::vector{torch_input({1, 2}, {0.1f, 0.2f})}).at(0).dtype, DType::f64);
}

TEST_F(TorchRunnerTest, float64_that_the_model_narrows_again_is_an_error) {
  const auto runner = open("torch/narrow.pt", DType::f64);
  EXPECT_THAT([&] { runner->run(std::vector{torch_input({1}, {1})}); },
              is_error("'output' is float32 though run in float64"));
}

TEST_F(TorchRunnerTest, parameters_and_buffers_are_visited_by_path) {
  std::vector<std::string> visited;
  open("torch/shared.pt")->visit_parameters([&](const TensorView& view) {
    visited.push_back(std::string(view.name) + format_shape(view.shape));
  });
  EXPECT_THAT(visited, ElementsAre("scale.weight[2]", "scale.bias[2]", "scale.running_mean[2]",
                                   "scale.running_var[2]", "scale.num_batches_tracked[]"));
}

TEST_F(TorchRunnerTest, a_trace_made_in_training_mode_is_warned_of) {
  EXPECT_THAT(open("torch/training.pt")->warnings(), ElementsAre(HasSubstr("2 operators of")));
  EXPECT_TRUE(open("torch/shared.pt")->warnings().empty());
}

TEST_F(TorchRunnerTest, a_sidecar_names_inputs_and_outputs) {
  const TemporaryDirectory folder;
  std::filesystem::copy(fixture("torch/structures.pt"), folder / "model.pt");
  std::ofstream(folder / "model.json") << R"({"inputs": [{"name": "pixels", "shape": ["batch", 3]}],
             "outputs": [{"name": "a"}, {"name": "b"}, {"name": "c"}, {"name": "d"}]})";
  const auto runner = open_torch_runner({.path = folder / "model.pt"});
  EXPECT_THAT(names(runner->inputs()), ElementsAre("pixels"));
  EXPECT_THAT(names(runner->run(std::vector{torch_input({1, 3}, {1, 2, 3})})),
              ElementsAre("a", "b", "c", "d"));
  EXPECT_FALSE(runner->outputs_are_positional());
}

TEST_F(TorchRunnerTest, a_sidecar_with_another_number_of_outputs_is_an_error) {
  const TemporaryDirectory folder;
  std::filesystem::copy(fixture("torch/structures.pt"), folder / "model.pt");
  std::ofstream(folder / "model.json") << R"({"outputs": [{"name": "a"}]})";
  EXPECT_THAT([&] { open_torch_runner({.path = folder / "model.pt"}); },
              is_error("has 4 outputs, but 1 are named"));
}

TEST_F(TorchRunnerTest, a_state_dict_is_no_torchscript) {
  EXPECT_THAT([] { open("torch/state_dict.pt"); },
              is_error("torch.jit.trace(model, example).save"));
}

TEST_F(TorchRunnerTest, a_truncated_file_is_an_error) {
  const TemporaryDirectory folder;
  std::filesystem::copy(fixture("torch/shared.pt"), folder / "cut.pt");
  std::filesystem::resize_file(folder / "cut.pt", 3000);
  EXPECT_THAT([&] { open_torch_runner({.path = folder / "cut.pt"}); }, is_error("cannot load it"));
}

TEST_F(TorchRunnerTest, a_file_that_is_no_archive_is_an_error) {
  EXPECT_THAT([] { open("torch/make.py"); }, is_error("cannot load it"));
}

TEST_F(TorchRunnerTest, a_missing_file_is_an_error) {
  EXPECT_THAT([] { open("torch/missing.pt"); }, is_error("missing.pt: no such file"));
}

TEST_F(TorchRunnerTest, an_argument_that_cannot_be_fed_is_an_error) {
  EXPECT_THAT([] { open("torch/listed.pt"); }, is_error("'parts' of forward is List[Tensor]"));
}

TEST_F(TorchRunnerTest, the_wrong_number_of_inputs_is_an_error) {
  EXPECT_THAT([] { open("torch/shared.pt")->run({}); }, is_error("takes 1 inputs, given 0"));
}

TEST_F(TorchRunnerTest, an_operator_that_fails_is_named_with_the_leaf_before_it) {
  EXPECT_THAT(
      [] {
        watch("mnist/mnist_cnn.pt")->run(std::vector{torch_input({1, 2}, {1, 2})});
      },
      is_error("mnist_cnn.pt: RuntimeError: "));
}

struct TorchModule : testing::Test {
  ~TorchModule() override { unsetenv("VERNIER_TORCH_MODULE"); }
};

TEST_F(TorchModule, a_missing_module_is_named) {
  setenv("VERNIER_TORCH_MODULE", "/nowhere/libvernier_torch.so", 1);
  EXPECT_THAT([] { open("torch/shared.pt"); }, is_error("/nowhere/libvernier_torch.so"));
}

TEST_F(TorchModule, a_module_of_another_version_or_compiler_is_refused) {
  setenv("VERNIER_TORCH_MODULE", VERNIER_OTHER_TORCH_MODULE, 1);
  EXPECT_THAT([] { open("torch/shared.pt"); },
              is_error("is vernier 0.0.0, compiler of another house, and this library is vernier"));
}

TEST_F(TorchModule, a_library_that_is_no_module_is_refused) {
  setenv("VERNIER_TORCH_MODULE", "libz.so.1", 1);
  EXPECT_THAT([] { open("torch/shared.pt"); }, is_error("is no module of vernier"));
}

}  // namespace
}  // namespace vernier
