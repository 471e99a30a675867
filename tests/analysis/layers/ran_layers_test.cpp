#include "vernier/analysis/layers/ran_layers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vernier {
namespace {

using ::testing::ElementsAre;

const std::vector<Layer> known = {{.name = "lstm", .type = "LSTM"},
                                  {.name = "lstm_head", .type = "Linear", .is_output = true},
                                  {.name = "idle", .type = "ReLU"}};

TEST(RanLayers, outputs_of_a_layer_have_its_type_and_repeated_runs_count_once) {
  const std::vector<SeenLayer> seen = {
      {"lstm.0"}, {"lstm.1"}, {"lstm_head"}, {"lstm_head"}, {"new"}};
  EXPECT_THAT(layers_that_ran(seen, known),
              ElementsAre(Layer{.name = "lstm.0", .type = "LSTM"},
                          Layer{.name = "lstm.1", .type = "LSTM"}, known[1], Layer{.name = "new"}));
}

TEST(RanLayers, a_layer_is_idle_if_neither_it_nor_an_output_of_it_ran) {
  EXPECT_THAT(idle_layers(known, {"lstm.0", "lstm_head"}), ElementsAre("idle"));
  EXPECT_THAT(idle_layers(known, {"lstm_head", "idle-not"}), ElementsAre("lstm", "idle"));
}

}  // namespace
}  // namespace vernier
