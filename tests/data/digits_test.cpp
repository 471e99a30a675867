// The same digits in every format that datasets come in.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <png.h>

#include <map>

#include "tests/data/small_images.h"
#include "tests/temporary_directory.h"
#include "vernier/data/duckdb_query.h"
#include "vernier/data/loader.h"
#include "vernier/data/selection.h"
#include "vernier/tensor/npz.h"

namespace vernier {
namespace {

constexpr std::int64_t count = 100;
constexpr std::size_t pixels = 28 * 28;

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
  std::string image(std::int64_t index) const {
    return {reinterpret_cast<const char*>(images_.bytes.data()) + index * pixels, pixels};
  }
  std::int64_t label(std::int64_t index) const {
    return elements<std::int64_t>(labels_.view())[index];
  }
  std::string png(std::int64_t index) const {
    png_image header{};
    header.version = PNG_IMAGE_VERSION;
    header.width = header.height = 28;
    header.format = PNG_FORMAT_GRAY;
    std::string file(10 * pixels, '\0');
    png_alloc_size_t size = file.size();
    EXPECT_TRUE(
        png_image_write_to_memory(&header, file.data(), &size, 0, image(index).data(), 0, nullptr));
    file.resize(size);
    return file;
  }

  const std::string npz_ = VERNIER_FIXTURES "/mnist/mnist_labelled.npz";
  const Tensor images_ = NpzReader(npz_).read("input");
  const Tensor labels_ = NpzReader(npz_).read("label");
  const std::vector<Digit> expected_ = load(npz_);
  const TemporaryDirectory folder_;
};

TEST_F(Digits, an_array_gives_the_bytes_over_255) {
  ASSERT_EQ(expected_.size(), static_cast<std::size_t>(count));
  const auto values = elements<float>(expected_[3].input.view());
  for (std::size_t i = 0; i < pixels; ++i)
    ASSERT_EQ(values[i], static_cast<std::uint8_t>(image(3)[i]) / 255.0f);
  EXPECT_EQ(expected_[3].label, label(3));
}

TEST_F(Digits, a_folder_of_png_files_gives_the_same) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> order;  // label, index
  for (std::int64_t i = 0; i < count; ++i) {
    write_text(folder_ / fmt::format("{}/{:04}.png", label(i), i), png(i));
    order[{label(i), i}] = i;
  }
  const std::vector<Digit> digits = load(folder_.path());
  ASSERT_EQ(digits.size(), expected_.size());
  std::size_t at = 0;
  for (const auto& [key, index] : order) EXPECT_EQ(digits[at++], expected_[index]) << index;
}

TEST_F(Digits, a_parquet_file_gives_the_same) {
  DuckDb duckdb;
  const auto run = [&](const std::string& sql) {
    duckdb.query(sql, {}, "test", [](const DuckDbRow&) {});
  };
  run("CREATE TABLE digits(label BIGINT, image STRUCT(bytes BLOB, path VARCHAR))");
  for (std::int64_t i = 0; i < count; ++i) {
    const std::string file = png(i);
    std::string hex;
    for (const unsigned char byte : file) hex += fmt::format("{:02x}", byte);
    run(fmt::format("INSERT INTO digits VALUES ({}, {{'bytes': from_hex('{}'), 'path': NULL}})",
                    label(i), hex));
  }
  run(fmt::format("COPY digits TO '{}' (FORMAT parquet)", (folder_ / "x.parquet").string()));
  EXPECT_EQ(load(folder_ / "x.parquet"), expected_);
}

TEST_F(Digits, idx_files_give_the_same) {
  using namespace std::string_literals;
  std::string pictures = "\0\0\x08\3\0\0\0\x64\0\0\0\x1C\0\0\0\x1C"s;
  std::string names = "\0\0\x08\1\0\0\0\x64"s;
  for (std::int64_t i = 0; i < count; ++i) {
    pictures += image(i);
    names += static_cast<char>(label(i));
  }
  write_text(folder_ / "t10k-images-idx3-ubyte", pictures);
  write_text(folder_ / "t10k-labels-idx1-ubyte", names);
  EXPECT_EQ(load(folder_.path()), expected_);
}

}  // namespace
}  // namespace vernier
