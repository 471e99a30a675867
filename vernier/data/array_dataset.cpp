#include "vernier/data/array_dataset.h"

#include <fmt/format.h>

#include <cstring>

#include "vernier/error.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

enum class Rows { ready, planes_first, channels_last };

bool is_channel_count(std::int64_t size) { return size == 1 || size == 3; }

Rows rows_of(const Tensor& inputs) {
  const Shape& shape = inputs.shape;
  if (inputs.dtype != DType::u8) return Rows::ready;
  if (shape.size() == 3) return Rows::channels_last;
  if (shape.size() == 4 && is_channel_count(shape[1])) return Rows::planes_first;
  if (shape.size() == 4 && is_channel_count(shape[3])) return Rows::channels_last;
  return Rows::ready;
}

std::span<const std::byte> row_bytes(const Tensor& array, std::int64_t row) {
  const std::size_t size = array.bytes.size() / array.shape[0];
  return std::span(array.bytes).subspan(row * size, size);
}

Tensor row_of(const Tensor& array, std::int64_t row) {
  const auto bytes = row_bytes(array, row);
  return {array.name,
          array.dtype,
          {array.shape.begin() + 1, array.shape.end()},
          {bytes.begin(), bytes.end()}};
}

class ArrayDataset : public Dataset {
 public:
  ArrayDataset(Tensor inputs, std::vector<std::int64_t> labels, std::optional<Tensor> targets,
               std::string subject)
      : inputs_(std::move(inputs)),
        labels_(std::move(labels)),
        targets_(std::move(targets)),
        subject_(std::move(subject)),
        rows_(rows_of(inputs_)) {}

  std::int64_t size() const override { return inputs_.shape[0]; }
  const std::vector<std::string>& classes() const override { return no_names_; }
  std::vector<Example> read(std::span<const std::int64_t> positions) override {
    std::vector<Example> examples;
    for (const std::int64_t position : positions) {
      Example example{.id = fmt::format("{} row {}", subject_, position)};
      if (!labels_.empty()) example.label = labels_[position];
      if (targets_) example.target = row_of(*targets_, position);
      if (rows_ == Rows::ready)
        example.content = row_of(inputs_, position);
      else
        example.content = image(position);
      examples.push_back(std::move(example));
    }
    return examples;
  }

 private:
  Image image(std::int64_t position) const {
    const Shape& shape = inputs_.shape;
    const bool planes = rows_ == Rows::planes_first;
    const int channels = shape.size() == 3 ? 1 : static_cast<int>(shape[planes ? 1 : 3]);
    const auto height = static_cast<int>(shape[planes ? 2 : 1]);
    Image image = make_image(static_cast<int>(shape[planes ? 3 : 2]), height, channels);
    const auto bytes = row_bytes(inputs_, position);
    if (!planes) {
      std::memcpy(image.pixels.data(), bytes.data(), bytes.size());
      return image;
    }
    const std::size_t plane = bytes.size() / channels;
    for (std::size_t i = 0; i < bytes.size(); ++i)
      image.pixels[i] = std::to_integer<std::uint8_t>(bytes[i % channels * plane + i / channels]);
    return image;
  }

  Tensor inputs_;
  std::vector<std::int64_t> labels_;
  std::optional<Tensor> targets_;
  std::string subject_;
  Rows rows_;
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
