// Every reader of files and texts on its seeds, whole, cut off, with flipped bits, with sizes that
// are wrong and with parts twice or missing: an answer or an Error. VERNIER_FUZZ_VARIANTS says how
// many of each seed. `make fuzz` looks for more with libFuzzer.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <random>
#include <string_view>

#include "tests/fuzz/targets.h"
#include "tests/temporary_directory.h"

namespace vernier::fuzz {

// So that a test's name holds no addresses.
static void PrintTo(const Target& target, std::ostream* out) { *out << target.name; }

namespace {

int variants_of_seed() {
  const char* given = std::getenv("VERNIER_FUZZ_VARIANTS");
  return given ? std::atoi(given) : 24;
}

// Sizes that are wrong, a part twice, and a part missing.
void change(std::string& text, std::mt19937& random) {
  constexpr std::array<std::string_view, 5> sizes = {
      std::string_view("\xff\xff\xff\xff", 4), std::string_view("\xff\xff\xff\x7f", 4),
      std::string_view("\0\0\0\0", 4), std::string_view("\0\0\0\x80", 4), "9999999999"};
  const std::size_t at = random() % text.size();
  const std::size_t length = std::min<std::size_t>(1 + random() % 40, text.size() - at);
  const std::string_view size = sizes[random() % sizes.size()];
  switch (random() % 3) {
    case 0: text.replace(at, std::min(size.size(), text.size() - at), size); break;
    case 1: text.insert(at, text.substr(at, length)); break;
    default: text.erase(at, length);
  }
}

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
    for (int i = 0; i < variants_of_seed() && !seed.empty(); ++i) {
      std::string variant = seed;
      if (i % 3 == 0) variant.resize(random() % seed.size());
      for (int flips = i % 8; flips > 0 && !variant.empty(); --flips)
        variant[random() % variant.size()] ^= static_cast<char>(1 << random() % 8);
      if (i % 5 == 4 && !variant.empty()) change(variant, random);
      feed_text(variant, folder);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Fuzz, Readers, testing::ValuesIn(targets()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace vernier::fuzz
