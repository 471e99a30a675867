// The same digits in every format that datasets come in.
#include "tests/data/digits.h"

#include <map>

#include "tests/temporary_directory.h"
#include "vernier/data/dataset.h"
#include "vernier/data/loader.h"

namespace vernier {
namespace {

constexpr std::int64_t count = 100;

struct Digit {
  std::int64_t label = 0;
  Tensor input;
  bool operator==(const Digit&) const = default;
};

// What a model of the shape [N,1,28,28] is given, in order.
std::vector<Digit> load(const std::string& name) {
  const auto dataset = open_dataset(name);
  const TensorSpec spec{"input", DType::f32, {{-1, ""}, {1, ""}, {28, ""}, {28, ""}}};
  Loader loader(*dataset, select_positions(dataset->size(), {.samples = count}), spec,
                {.needs = Needs::label, .model_labels = 10});
  std::vector<Digit> digits;
  while (auto batch = loader.next()) digits.push_back({batch->labels[0], std::move(batch->input)});
  return digits;
}

class Digits : public ::testing::Test {
 protected:
  const LabelledDigits digits_;
  const std::vector<Digit> expected_ = load(LabelledDigits::npz);
  const TemporaryDirectory folder_;
};

TEST_F(Digits, an_array_gives_the_bytes_over_255) {
  ASSERT_EQ(expected_.size(), static_cast<std::size_t>(count));
  const auto values = elements<float>(expected_[3].input.view());
  const std::string image = digits_.image(3);
  for (std::size_t i = 0; i < image.size(); ++i)
    ASSERT_EQ(values[i], static_cast<std::uint8_t>(image[i]) / 255.0f);
  EXPECT_EQ(expected_[3].label, digits_.label(3));
}

TEST_F(Digits, a_folder_of_png_files_gives_the_same) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> order;  // label, index
  digits_.write_folder(folder_.path(), count);
  for (std::int64_t i = 0; i < count; ++i) order[{digits_.label(i), i}] = i;
  const std::vector<Digit> loaded = load(folder_.path());
  ASSERT_EQ(loaded.size(), expected_.size());
  std::size_t at = 0;
  for (const auto& [key, index] : order) EXPECT_EQ(loaded[at++], expected_[index]) << index;
}

TEST_F(Digits, a_parquet_file_gives_the_same) {
  digits_.write_parquet(folder_ / "x.parquet", count);
  EXPECT_EQ(load(folder_ / "x.parquet"), expected_);
}

TEST_F(Digits, idx_files_give_the_same) {
  using namespace std::string_literals;
  std::string pictures = "\0\0\x08\3\0\0\0\x64\0\0\0\x1C\0\0\0\x1C"s;
  std::string names = "\0\0\x08\1\0\0\0\x64"s;
  for (std::int64_t i = 0; i < count; ++i) {
    pictures += digits_.image(i);
    names += static_cast<char>(digits_.label(i));
  }
  write_text(folder_ / "t10k-images-idx3-ubyte", pictures);
  write_text(folder_ / "t10k-labels-idx1-ubyte", names);
  EXPECT_EQ(load(folder_.path()), expected_);
}

}  // namespace
}  // namespace vernier
