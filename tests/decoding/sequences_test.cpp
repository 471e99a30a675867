#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/decoding/small_decoder.h"
#include "vernier/analysis/decoding/cache_faults.h"
#include "vernier/analysis/decoding/decoder_inputs.h"
#include "vernier/analysis/decoding/decoder_samples.h"
#include "vernier/analysis/decoding/fed_decoder.h"
#include "vernier/analysis/decoding/run_map.h"
#include "vernier/error.h"
#include "vernier/metrics/similarity.h"
#include "vernier/model/index.h"
#include "vernier/report/warning.h"
#include "vernier/runtime/ort_runner.h"
#include "vernier/runtime/stopping.h"

namespace vernier {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

const Tensor& named(const std::vector<Tensor>& tensors, const std::string& name) {
  return *std::ranges::find(tensors, name, &Tensor::name);
}

std::vector<std::int64_t> numbers(const Tensor& tensor) {
  const auto values = elements<std::int64_t>(tensor);
  return {values.begin(), values.end()};
}

TEST(DecoderInputs, follow_from_tokens_and_cache) {
  const Model model = small_decoder();
  const std::vector<std::int64_t> fed = {5, 6};
  const auto inputs = decoder_inputs(*find_decoder(model), model.inputs(), {fed, 3});
  EXPECT_EQ(numbers(inputs[0]), fed);
  EXPECT_THAT(numbers(inputs[1]), ElementsAre(1, 1, 1, 1, 1));
  EXPECT_THAT(numbers(inputs[2]), ElementsAre(3, 4));
  EXPECT_THAT(inputs[3].shape, ElementsAre(1, 3, 8));
}

TEST(DecoderInputs, of_a_batch_hold_a_row_for_each_sequence) {
  const Model model = small_decoder();
  const std::vector<std::int64_t> fed = {5, 6, 7, 8};
  const auto inputs = decoder_inputs(*find_decoder(model), model.inputs(), {fed, 1, 2});
  EXPECT_THAT(inputs[0].shape, ElementsAre(2, 2));
  EXPECT_THAT(inputs[1].shape, ElementsAre(2, 3));
  EXPECT_THAT(numbers(inputs[2]), ElementsAre(1, 2, 1, 2));
  EXPECT_THAT(inputs[3].shape, ElementsAre(2, 1, 8));
}

TEST(DecoderInputs, a_cache_that_comes_back_empty_stays_what_it_was) {
  const Decoder decoder{.caches = {{"c", "d", 1}, {"e", "f", -1}}};
  const std::vector<Tensor> fed = {tensor_of<float>("c", DType::f32, {1, 1}, {1}),
                                   tensor_of<float>("e", DType::f32, {1, 1}, {2})};
  std::vector<Tensor> outputs = {tensor_of<float>("d", DType::f32, {1, 2}, {1, 3}),
                                 make_tensor("f", DType::f32, {0, 1})};
  const auto caches = take_caches(decoder, outputs, fed);
  EXPECT_THAT(caches[0].shape, ElementsAre(1, 2));
  EXPECT_EQ(caches[1], fed[1]);
}

TEST(DecoderInputs, a_mask_of_what_an_encoder_found_is_as_long_as_that) {
  const Dim batch{-1, "n"}, own{-1, "s"}, encoded{-1, "e"};
  const std::vector<TensorSpec> specs = {
      {.name = "ids", .dtype = DType::i64, .shape = {batch, own}},
      {.name = "mask", .dtype = DType::i64, .shape = {batch, encoded}},
      {.name = "found", .dtype = DType::f32, .shape = {batch, encoded, {8, ""}}}};
  const Decoder decoder{.roles = {DecoderRole::tokens, DecoderRole::mask, DecoderRole::values},
                        .tokens = "ids",
                        .logits = "y",
                        .vocabulary = 32};
  const std::vector<std::int64_t> fed = {5, 6, 7};
  const auto inputs = decoder_inputs(decoder, specs, {fed});
  EXPECT_EQ(inputs[1].shape[1], inputs[2].shape[1]);
}

// Tokens at places are one token each, behind the cache of those before.
TEST(DecoderSamples, at_places_are_single_tokens_behind_the_teachers_cache) {
  const Model model = small_decoder(), other = small_decoder({.weight_error = 2});
  const std::vector<TensorSpec> specs = other.inputs();
  InputSpec spec{.tokens = {{1, 2, 3, 4, 5, 6}, {7, 8, 9, 10}},
                 .at = parse_token_places("first,last,2")};
  const InputTarget target{.inputs = specs, .onnx = &other, .teacher = &model};
  auto made = decoder_samples(target, spec);
  ASSERT_TRUE(made);
  ASSERT_EQ(made->samples->size(), 6);
  OrtRunner runner(model.clone());
  const auto whole =
      runner.run(decoder_inputs(*find_decoder(model), specs, {.tokens = spec.tokens[1]}));
  const std::vector<Tensor> last = made->samples->sample(5);
  EXPECT_THAT(numbers(named(last, "x0")), ElementsAre(10));
  EXPECT_THAT(named(last, "c0").shape, ElementsAre(1, 3, 8));
  const auto step = runner.run(last);
  const Tensor& expected = named(whole, "y");
  const TensorView row{"", DType::f32, std::span(step[0].shape),
                       std::span(expected.bytes).last(step[0].bytes.size())};
  EXPECT_GT(similarity(row, step[0]).sqnr_db, 100);
  // Out of their order, too.
  EXPECT_THAT(named(made->samples->sample(0), "c0").shape, ElementsAre(1, 0, 8));
  EXPECT_THAT(named(made->samples->sample(4), "c0").shape, ElementsAre(1, 2, 8));

  spec.at = parse_token_places("worst");
  EXPECT_EQ(decoder_samples(target, spec)->samples->size(), 2);
  spec.at = parse_token_places("5");
  EXPECT_THAT([&] { decoder_samples(target, spec); },
              ::testing::ThrowsMessage<Error>(HasSubstr("--at 5: a sequence has 4 tokens")));
  spec.at = parse_token_places("worst");
  EXPECT_THAT([&] { decoder_samples({.inputs = specs, .onnx = &other}, spec); },
              ::testing::ThrowsMessage<Error>(HasSubstr("pass --reference")));
  EXPECT_THROW(parse_token_places("best"), Error);
}

// Steps behind a cache say what one run of all tokens says.
TEST(DecoderSamples, feed_the_caches_and_the_best_tokens_of_the_run_before) {
  const Model model = small_decoder();
  const std::vector<TensorSpec> specs = model.inputs();
  const IoMapping io{.prompt_length = 5, .decode_steps = 3};
  auto made = decoder_samples({.inputs = specs, .onnx = &model, .io = io}, {.samples = 8});
  ASSERT_TRUE(made);
  ASSERT_EQ(made->samples->size(), 8);
  OrtRunner runner(model.clone());
  std::vector<std::int64_t> all = numbers(named(made->samples->sample(0), "x0"));
  ASSERT_THAT(all, SizeIs(5));
  std::vector<Tensor> last;
  for (int step = 1; step < 4; ++step) {
    const std::vector<Tensor> sample = made->samples->sample(step);
    EXPECT_THAT(named(sample, "c0").shape, ElementsAre(1, 4 + step, 8));
    all.push_back(numbers(named(sample, "x0"))[0]);
    last = runner.run(sample);
  }
  const auto whole = runner.run(decoder_inputs(*find_decoder(model), specs, {all}));
  EXPECT_GT(similarity(named(whole, "d3"), named(last, "d3")).sqnr_db, 100);
  EXPECT_EQ(best_token(named(whole, "y")), best_token(named(last, "y")));
  // Out of order, too.
  EXPECT_EQ(made->samples->sample(5), made->samples->sample(5));
  EXPECT_EQ(numbers(named(made->samples->sample(3), "x0")).front(), all.back());
}

TEST(DecoderSamples, all_are_the_runs_of_every_text) {
  const Model model = small_decoder();
  const std::vector<TensorSpec> specs = model.inputs();
  const InputSpec spec{.samples = all_samples, .tokens = {{1, 2, 3, 4, 5, 6}, {7, 8, 9, 10}}};
  for (const std::int64_t steps : {1, 4}) {
    const IoMapping io{.steps = steps, .decode_steps = 3};
    const auto made = decoder_samples({.inputs = specs, .onnx = &model, .io = io}, spec);
    ASSERT_TRUE(made);
    EXPECT_EQ(made->samples->size(), 8) << steps;
  }
}

TEST(DecoderSamples, a_comparison_feeds_every_cache_back) {
  const Model model = small_decoder();
  IoMapping io{.decode_steps = 4};
  follow_decoder(model, nullptr, {}, io);
  EXPECT_EQ(io.steps, 5);
  EXPECT_THAT(io.feedback, ElementsAre(Feedback{"d0", "c0"}, Feedback{"d1", "c1"},
                                       Feedback{"d2", "c2"}, Feedback{"d3", "c3"}));
  IoMapping own{.feedback = {{"d0", "c0"}}};
  follow_decoder(model, nullptr, {}, own);
  EXPECT_THAT(own.feedback, SizeIs(1));
}

std::vector<CacheFault> faults_of(const DecoderFaults& faults) {
  const Model sound = small_decoder(), faulty = small_decoder(faults);
  const auto expected = find_decoder(sound), found = find_decoder(faulty);
  OrtRunner reference(sound.clone()), candidate(faulty.clone());
  const std::vector<std::int64_t> prompt = {3, 1, 4, 15, 9, 2, 6};
  return find_cache_faults({reference, *expected}, {candidate, *found}, prompt);
}

TEST(CacheFaults, of_a_sound_decoder_there_are_none) {
  EXPECT_THAT(faults_of({}), SizeIs(0));
  EXPECT_THAT(faults_of({.weight_error = 1}), SizeIs(0));
}

// Is stopped in its second run.
class StoppedRunner : public OrtRunner {
 public:
  using OrtRunner::OrtRunner;
  std::vector<Tensor> run(std::span<const Tensor> inputs, const Observer& observer) override {
    if (++runs_ == 2) throw Stopped("[test] interrupted");
    return OrtRunner::run(inputs, observer);
  }

 private:
  int runs_ = 0;
};

TEST(CacheFaults, an_interruption_is_not_taken_for_caches_without_a_fault) {
  const Model model = small_decoder();
  const auto decoder = find_decoder(model);
  OrtRunner reference(model.clone());
  StoppedRunner candidate(model.clone());
  const std::vector<std::int64_t> prompt = {3, 1, 4};
  EXPECT_THROW(find_cache_faults({reference, *decoder}, {candidate, *decoder}, prompt), Stopped);
}

TEST(RunMap, has_no_kl_of_logits_of_another_vocabulary) {
  const Model model = small_decoder();
  Model padded = model.clone();
  vernier_onnx::NodeProto& head = *padded.graph().mutable_node()->rbegin();
  head.set_output(0, "logits");
  vernier_onnx::NodeProto& pad = *padded.graph().add_node();
  pad.set_op_type("Concat");
  for (int i = 0; i < 2; ++i) pad.add_input("logits");
  pad.add_output("y");
  *pad.add_attribute() = int_attribute("axis", 2);
  padded.graph().mutable_output(0)->clear_type();
  const auto decoder = find_decoder(model);
  const std::vector<std::int64_t> tokens = {3, 1, 4};
  EXPECT_THAT(map_run(model, ModelIndex(model), *decoder, {}, tokens).kl, SizeIs(3));
  EXPECT_THAT(map_run(model, ModelIndex(padded), *decoder, {}, tokens).kl, SizeIs(0));
}

TEST(CacheFaults, swapped_caches_are_named) {
  const auto faults = faults_of({.swapped = true});
  ASSERT_THAT(faults, SizeIs(1));
  EXPECT_EQ(faults[0].kind, CacheFault::Kind::swapped);
  EXPECT_EQ(faults[0].output, "d0");
  EXPECT_EQ(faults[0].other, "d2");
  EXPECT_THAT(cache_fault_text(faults[0]),
              HasSubstr("'d0' and 'd2' are swapped: after the prompt, SQNR"));
}

// A live model calls its caches otherwise: they are paired as both list them, also where the graph
// would undo a swap.
TEST(PairCaches, go_by_the_order_of_the_outputs) {
  for (const bool swapped : {false, true}) {
    const Model candidate = small_decoder({.swapped = swapped});
    std::vector<TensorSpec> reference;
    std::vector<std::string> own;
    const auto decoder = find_decoder(candidate);
    for (const TensorSpec& output : candidate.outputs()) {
      const bool is_logits = output.name == decoder->logits;
      reference.push_back(output);
      if (is_logits) continue;
      own.push_back(output.name);
      reference.back().name = "past_" + output.name;
    }
    IoMapping io;
    pair_cache_outputs(candidate, reference, io);
    ASSERT_EQ(io.outputs.size(), own.size());
    for (const std::string& name : own) EXPECT_EQ(io.outputs.at("past_" + name), name);
  }
}

TEST(CacheFaults, a_position_that_is_off_is_named_with_its_step) {
  const auto faults = faults_of({.position = true});
  ASSERT_THAT(faults, SizeIs(1));
  EXPECT_EQ(faults[0].kind, CacheFault::Kind::position);
  EXPECT_EQ(faults[0].shift, 1);
  EXPECT_EQ(faults[0].step, 1);
  EXPECT_THAT(cache_fault_text(faults[0]), HasSubstr("positions are off by +1"));
}

TEST(CacheFaults, a_cache_that_is_cut_is_named_with_what_it_holds) {
  const auto faults = faults_of({.cut = true});
  ASSERT_THAT(faults, SizeIs(1));
  EXPECT_EQ(faults[0].kind, CacheFault::Kind::cut);
  EXPECT_EQ(faults[0].output, "d0");
  EXPECT_EQ(faults[0].reference_length, 7);
  EXPECT_EQ(faults[0].candidate_length, 6);
  EXPECT_EQ(faults[0].shift, 1);
  EXPECT_THAT(cache_fault_text(faults[0]), HasSubstr("its numbers 1 to 6"));
}

}  // namespace
}  // namespace vernier
