#include "vernier/report/thumbnails.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "vernier/data/image.h"
#include "vernier/data/resize.h"
#include "vernier/error.h"
#include "vernier/json.h"
#include "vernier/report/base64.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

constexpr std::size_t most_pictures = 24;
constexpr int longest_edge = 96;

// Sizes and strides of an image: [height, width], [channels, height, width] or [height, width,
// channels].
struct PlaneLayout {
  std::int64_t height = 0, width = 0, channels = 1;
  std::int64_t row_step = 0, column_step = 0, channel_step = 0;
};

std::optional<PlaneLayout> layout_of(const Shape& shape) {
  if (shape.size() == 2) return PlaneLayout{shape[0], shape[1], 1, shape[1], 1, 0};
  if (shape.size() != 3) return std::nullopt;
  if (shape[0] == 1 || shape[0] == 3)
    return PlaneLayout{shape[1], shape[2], shape[0], shape[2], 1, shape[1] * shape[2]};
  if (shape[2] == 1 || shape[2] == 3)
    return PlaneLayout{shape[0], shape[1], shape[2], shape[1] * shape[2], shape[2], 1};
  return std::nullopt;
}

// The tensor as an image, with its minimum as black and its maximum as white; nullopt if it is no
// image.
std::optional<Image> picture_of(const Tensor& tensor) {
  const auto layout = layout_of(tensor.shape);
  if (!layout || element_count(tensor.shape) == 0) return std::nullopt;
  const std::vector<double> values = to_f64(tensor);
  const auto [low, high] = std::ranges::minmax(values);
  const double span = high > low && std::isfinite(high - low) ? high - low : 1;
  Image image = make_image(static_cast<int>(layout->width), static_cast<int>(layout->height),
                           static_cast<int>(layout->channels));
  auto pixel = image.pixels.begin();
  for (std::int64_t row = 0; row < layout->height; ++row)
    for (std::int64_t column = 0; column < layout->width; ++column)
      for (std::int64_t channel = 0; channel < layout->channels; ++channel) {
        const double value = values[row * layout->row_step + column * layout->column_step +
                                    channel * layout->channel_step];
        const double share = std::clamp((value - low) / span, 0.0, 1.0);
        *pixel++ = static_cast<std::uint8_t>(std::isnan(share) ? 0 : std::lround(255 * share));
      }
  return image;
}

std::optional<Image> picture_of(Example example) {
  if (const auto* tensor = std::get_if<Tensor>(&example.content)) return picture_of(*tensor);
  if (auto* image = std::get_if<Image>(&example.content)) return std::move(*image);
  const auto* encoded = std::get_if<EncodedImage>(&example.content);
  if (!encoded) return std::nullopt;
  try {
    return decode_image(*encoded, example.id);
  } catch (const Error&) {
    return std::nullopt;
  }
}

Image small(const Image& image) {
  const int edge = std::max(image.width, image.height);
  if (edge <= longest_edge) return image;
  const auto scaled = [&](int size) { return std::max(1, size * longest_edge / edge); };
  return resize(image, {scaled(image.width), scaled(image.height)}, Filter::bilinear);
}

// At most most_pictures samples; those that the reference predicts correctly come first.
std::vector<std::int64_t> chosen(std::span<const FlippedSample> samples) {
  std::vector<FlippedSample> ordered(samples.begin(), samples.end());
  std::ranges::stable_partition(
      ordered, [](const FlippedSample& flip) { return flip.reference == flip.label; });
  ordered.resize(std::min(ordered.size(), most_pictures));
  std::vector<std::int64_t> positions;
  for (const FlippedSample& flip : ordered) positions.push_back(flip.sample);
  return positions;
}

}  // namespace

std::string thumbnails_json(Dataset& dataset, std::span<const FlippedSample> samples) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  const std::vector<std::int64_t> positions = chosen(samples);
  std::vector<Example> examples = dataset.read(positions);
  for (std::size_t i = 0; i < examples.size(); ++i)
    if (const auto picture = picture_of(std::move(examples[i])); picture && picture->width > 0)
      json[std::to_string(positions[i])] =
          "data:image/png;base64," + base64(encode_png(small(*picture)));
  return json_line(nlohmann::ordered_json{{"thumbnails", std::move(json)}});
}

}  // namespace vernier
