#include "vernier/analysis/inputs/io_mapping.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vernier/error.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(IoMapping, a_pair_of_names_has_both_sides) {
  EXPECT_EQ(parse_name_pair("x=input", "--map-input"),
            std::pair(std::string("x"), std::string("input")));
  for (const char* text : {"x", "=input", "x=", ""})
    EXPECT_THAT([=] { parse_name_pair(text, "--map-input"); },
                ThrowsMessage<Error>(HasSubstr("expected REFERENCE=CANDIDATE")))
        << text;
  EXPECT_THAT([] { parse_name_pair("stateN", "--feedback"); },
              ThrowsMessage<Error>(HasSubstr("expected OUTPUT=INPUT")));
}

TEST(IoMapping, a_constant_is_a_number_or_a_list_of_them) {
  EXPECT_EQ(parse_constant("sr=16000"), std::pair(std::string("sr"), std::vector{16000.0}));
  EXPECT_EQ(parse_constant("a=b=-1.5e3"), std::pair(std::string("a=b"), std::vector{-1500.0}));
  EXPECT_EQ(parse_constant("flag=true").second, std::vector{1.0});
  EXPECT_EQ(parse_constant("size=[224, 320]").second, (std::vector{224.0, 320.0}));
  for (const char* text : {"sr", "sr=", "sr=fast", "=3", "size=[1,]", "size=[]", "size=[1,2"})
    EXPECT_THAT([=] { parse_constant(text); }, ThrowsMessage<Error>(HasSubstr("as in sr=16000")))
        << text;
}

TEST(IoMapping, a_constant_has_the_dtype_and_shape_of_its_input) {
  const TensorSpec rate{"sr", DType::i64, {}};
  const Tensor scalar = constant_tensor(rate, {}, std::vector{16000.0});
  EXPECT_EQ(scalar.dtype, DType::i64);
  EXPECT_THAT(elements<std::int64_t>(scalar.view()), ElementsAre(16000));
  const TensorSpec mask{"mask", DType::f32, {Dim{2}, Dim{2}}};
  EXPECT_THAT(to_f64(constant_tensor(mask, {2, 2}, std::vector{1.0})), ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(to_f64(constant_tensor(mask, {2, 2}, std::vector{1.0, 2.0, 3.0, 4.0})),
              ElementsAre(1, 2, 3, 4));
}

TEST(IoMapping, a_list_is_as_long_as_a_dynamic_vector) {
  const TensorSpec sizes{"sizes", DType::i64, {Dim{-1, "n"}}};
  EXPECT_EQ(constant_tensor(sizes, {1}, std::vector{7.0, 8.0, 9.0}).shape, Shape{3});
  EXPECT_EQ(constant_tensor(sizes, {1}, std::vector{7.0}).shape, Shape{1});
}

TEST(IoMapping, a_constant_that_does_not_fit_is_refused) {
  const TensorSpec bytes{"b", DType::u8, {Dim{2}}};
  const auto making = [&](std::vector<double> values) {
    return [&bytes, values] { constant_tensor(bytes, {2}, values); };
  };
  EXPECT_THAT(making({1, 2, 3}),
              ThrowsMessage<Error>(HasSubstr("3 values for an input of shape [2]")));
  for (const double value : {1.5, -1.0, 256.0})
    EXPECT_THAT(making({value}), ThrowsMessage<Error>(HasSubstr("the input is uint8")));
}

TEST(IoMapping, an_unknown_name_lists_what_there_is_and_the_nearest) {
  const std::vector<std::string> names = {"input", "state"};
  EXPECT_THAT([&] { require_name("stat", names, "--set", "the model", "input"); },
              ThrowsMessage<Error>(HasSubstr("--set: there is no input 'stat' in the model; there "
                                             "are input, state; did you mean state?")));
  EXPECT_THAT([&] { require_name("zzzzzz", names, "--set", "the model", "input"); },
              ThrowsMessage<Error>(HasSubstr("there are input, state")));
}

TEST(IoMapping, state_begins_as_zeros_unless_it_is_set) {
  const IoMapping io{.constants = {{"sr", {8000}}, {"h", {1}}},
                     .feedback = {{"hn", "h"}, {"cn", "c"}}};
  const auto values = initial_values(io);
  EXPECT_EQ(values.at("h"), std::vector{1.0});
  EXPECT_EQ(values.at("c"), std::vector{0.0});
  EXPECT_EQ(values.at("sr"), std::vector{8000.0});
}

}  // namespace
}  // namespace vernier
