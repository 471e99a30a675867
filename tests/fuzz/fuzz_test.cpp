// Every reader of files and texts on its seeds, whole, cut off and with flipped bytes: an answer or
// an Error. `make fuzz` looks for more with libFuzzer.
#include <gtest/gtest.h>

#include <random>

#include "tests/fuzz/targets.h"
#include "tests/temporary_directory.h"

namespace vernier::fuzz {
namespace {

constexpr int variants_of_seed = 24;

class Readers : public testing::TestWithParam<Target> {};

void feed_text(const std::string& text, const TemporaryDirectory& folder) {
  feed(Readers::GetParam(), std::as_bytes(std::span(text)), folder.path());
}

TEST_P(Readers, answer_on_seeds_and_on_what_is_left_of_them) {
  const TemporaryDirectory folder;
  std::mt19937 random(1);
  const std::vector<std::string> all = seeds(GetParam());
  EXPECT_FALSE(all.empty());
  for (const std::string& seed : all) {
    feed_text(seed, folder);
    for (int i = 0; i < variants_of_seed && !seed.empty(); ++i) {
      std::string variant = seed;
      if (i % 3 == 0) variant.resize(random() % seed.size());
      for (int flips = i % 8; flips > 0 && !variant.empty(); --flips)
        variant[random() % variant.size()] ^= static_cast<char>(1 << random() % 8);
      feed_text(variant, folder);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Fuzz, Readers, testing::ValuesIn(targets()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace vernier::fuzz
