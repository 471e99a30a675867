#include "vernier/data/array_dataset.h"

#include <fmt/format.h>

#include <cstring>

#include "vernier/error.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

bool is_channel_count(std::int64_t size) { return size == 1 || size == 3; }

Image image_of(const Tensor& row, bool planes) {
  const Shape& shape = row.shape;
  const int channels = shape.size() == 2 ? 1 : static_cast<int>(shape[planes ? 0 : 2]);
  const auto height = static_cast<int>(shape[planes ? 1 : 0]);
  Image image = make_image(static_cast<int>(shape[planes ? 2 : 1]), height, channels);
  if (!planes) {
    std::memcpy(image.pixels.data(), row.bytes.data(), row.bytes.size());
    return image;
  }
  const std::size_t plane = row.bytes.size() / channels;
  for (std::size_t i = 0; i < row.bytes.size(); ++i)
    image.pixels[i] = std::to_integer<std::uint8_t>(row.bytes[i % channels * plane + i / channels]);
  return image;
}

class ArrayDataset : public Dataset {
 public:
  ArrayDataset(Tensor inputs, std::vector<std::int64_t> labels, std::optional<Tensor> targets,
               std::string subject)
      : inputs_(std::move(inputs)),
        labels_(std::move(labels)),
        targets_(std::move(targets)),
        subject_(std::move(subject)) {}

  std::int64_t size() const override { return inputs_.shape[0]; }
  const std::vector<std::string>& classes() const override { return no_names_; }
  std::vector<Example> read(std::span<const std::int64_t> positions) override {
    std::vector<Example> examples;
    for (const std::int64_t position : positions) {
      Example example{.id = fmt::format("{} row {}", subject_, position)};
      if (!labels_.empty()) example.label = labels_[position];
      if (targets_) example.target = unstack(rows_of(*targets_, position, 1));
      example.content = image_or_tensor(unstack(rows_of(inputs_, position, 1)));
      examples.push_back(std::move(example));
    }
    return examples;
  }

 private:
  Tensor inputs_;
  std::vector<std::int64_t> labels_;
  std::optional<Tensor> targets_;
  std::string subject_;
  std::vector<std::string> no_names_;
};

void check_labels(const Tensor& labels, std::int64_t rows, const std::string& subject) {
  const bool one_each = !labels.shape.empty() && labels.shape[0] == rows;
  if (!one_each || labels.size() == 0 || !is_integer(labels.dtype))
    throw Error(fmt::format("[dataset] {}: expected {} integer labels, '{}' is {} {}", subject,
                            rows, labels.name, dtype_name(labels.dtype),
                            format_shape(labels.shape)));
}

bool is_column(const Tensor& labels) { return labels.size() == labels.shape[0]; }

std::vector<std::int64_t> label_values(const Tensor& labels) {
  const Tensor wide = convert(labels, DType::i64);
  const auto values = elements<std::int64_t>(wide.view());
  return {values.begin(), values.end()};
}

}  // namespace

std::variant<Unreadable, EncodedImage, Image, Tensor> image_or_tensor(Tensor row) {
  const Shape& shape = row.shape;
  const bool flat = shape.size() == 2;
  const bool planes = shape.size() == 3 && is_channel_count(shape[0]);
  const bool pixels = shape.size() == 3 && is_channel_count(shape[2]);
  if (row.dtype == DType::u8 && (flat || planes || pixels)) return image_of(row, planes);
  return row;
}

std::unique_ptr<Dataset> make_array_dataset(Tensor inputs, const std::optional<Tensor>& labels,
                                            const std::string& subject) {
  if (inputs.shape.empty() || inputs.shape[0] < 1 || inputs.size() == 0)
    throw Error(fmt::format("[dataset] {}: '{}' is {}, expected rows of inputs", subject,
                            inputs.name, format_shape(inputs.shape)));
  std::vector<std::int64_t> values;
  if (labels) check_labels(*labels, inputs.shape[0], subject);
  if (labels && is_column(*labels)) values = label_values(*labels);
  return std::make_unique<ArrayDataset>(std::move(inputs), std::move(values),
                                        labels && values.empty() ? labels : std::nullopt, subject);
}

}  // namespace vernier
