#include "vernier/report/thumbnails.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "vernier/tensor/tensor.h"

namespace vernier {
namespace {

// Example i is a picture of its own kind.
class Pictures : public Dataset {
 public:
  explicit Pictures(std::vector<Example> examples) : examples_(std::move(examples)) {}
  std::int64_t size() const override { return std::ssize(examples_); }
  const std::vector<std::string>& classes() const override { return classes_; }
  std::vector<Example> read(std::span<const std::int64_t> positions) override {
    std::vector<Example> read;
    for (const std::int64_t position : positions) read.push_back(examples_.at(position));
    return read;
  }

 private:
  std::vector<Example> examples_;
  std::vector<std::string> classes_;
};

Tensor ready(Shape shape) { return make_tensor("x", DType::f32, std::move(shape)); }

TEST(Thumbnails, are_made_of_whatever_is_a_picture) {
  Pictures dataset({{.content = make_image(300, 200, 3)},
                    {.content = ready({1, 28, 28})},
                    {.content = ready({8, 8, 3})},
                    {.content = ready({16})},
                    {.content = Unreadable{"damaged"}},
                    {.content = EncodedImage(4)}});
  std::vector<FlippedSample> samples;
  for (std::int64_t i = 0; i < dataset.size(); ++i) samples.push_back({.sample = i});
  const auto json = nlohmann::json::parse(thumbnails_json(dataset, samples))["thumbnails"];
  EXPECT_EQ(json.size(), 3U);
  for (const char* sample : {"0", "1", "2"})
    EXPECT_EQ(json[sample].get<std::string>().find("data:image/png;base64,iVBOR"), 0U);
}

TEST(Thumbnails, what_got_worse_comes_first_where_there_are_too_many) {
  Pictures dataset(std::vector<Example>(40, {.content = make_image(4, 4, 1)}));
  std::vector<FlippedSample> samples;
  for (std::int64_t i = 0; i < 40; ++i)
    samples.push_back({.sample = i, .label = 1, .reference = i >= 30 ? 1 : 0, .candidate = 2});
  const auto json = nlohmann::json::parse(thumbnails_json(dataset, samples))["thumbnails"];
  EXPECT_EQ(json.size(), 24U);
  EXPECT_TRUE(json.contains("39"));
  EXPECT_FALSE(json.contains("20"));
  EXPECT_EQ(thumbnails_json(dataset, {}), R"({"thumbnails":{}})");
}

}  // namespace
}  // namespace vernier
