#include "vernier/data/preprocess.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "vernier/error.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

// A centre crop along one axis: the part that is taken, and the border before it.
struct AxisCrop {
  int begin = 0;
  int count = 0;
  int border = 0;
};

AxisCrop crop_axis(int length, int wanted, CropOrigin origin) {
  const int excess = length - wanted;
  if (excess >= 0) {
    const bool up = origin == CropOrigin::round && excess % 4 == 3;  // half to even rounds up
    return {excess / 2 + (up ? 1 : 0), wanted, 0};
  }
  const int missing = -excess;
  return {0, length, origin == CropOrigin::floor ? (missing + 1) / 2 : missing / 2};
}

// A black image of this size with the image at (left, top).
Image with_border(const Image& image, Size size, int left, int top) {
  Image out = make_image(size.width, size.height, image.channels);
  const std::size_t in_stride = image.pixels.size() / image.height;
  const std::size_t out_stride = out.pixels.size() / out.height;
  for (int y = 0; y < image.height; ++y)
    std::copy_n(
        image.pixels.begin() + y * in_stride, in_stride,
        out.pixels.begin() + (top + y) * out_stride + std::ptrdiff_t{left} * image.channels);
  return out;
}

Image resize_and_crop(const Image& image, const Preprocessing& preprocessing) {
  const Size old_size{image.width, image.height};
  const auto& rule = preprocessing.resize;
  const Size size = rule ? resized_size(*rule, old_size) : old_size;
  const Filter filter = rule ? rule->filter : Filter::nearest;
  if (!preprocessing.center_crop) return resize(image, size, filter);
  const auto& [wanted, origin] = *preprocessing.center_crop;
  const AxisCrop x = crop_axis(size.width, wanted.width, origin);
  const AxisCrop y = crop_axis(size.height, wanted.height, origin);
  Image cropped = resize(image, size, filter, {x.begin, y.begin, x.count, y.count});
  if (Size{x.count, y.count} == wanted) return cropped;
  return with_border(cropped, wanted, x.border, y.border);
}

double entry(const std::vector<double>& values, int channel, double otherwise) {
  if (values.empty()) return otherwise;
  return values.size() == 1 ? values[0] : values.at(channel);
}

using Table = std::array<float, 256>;

// The value of each 8-bit sample of a channel.
Table value_table(const Preprocessing& preprocessing, int channel) {
  const auto mean = static_cast<float>(entry(preprocessing.mean, channel, 0.0));
  const auto std = static_cast<float>(entry(preprocessing.std, channel, 1.0));
  Table table;
  for (int sample = 0; sample < 256; ++sample)
    table[sample] = (static_cast<float>(sample * preprocessing.rescale_factor) - mean) / std;
  return table;
}

Table identity_table() {
  Table table;
  for (int sample = 0; sample < 256; ++sample) table[sample] = static_cast<float>(sample);
  return table;
}

Shape tensor_shape(const ImageInput& input, Size size) {
  if (input.layout == Layout::nchw) return {1, input.channels, size.height, size.width};
  return {1, size.height, size.width, input.channels};
}

// Writes the samples into a tensor of at least the image's size; the rest stays 0.
Tensor fill(const Image& image, const ImageInput& input, Size size,
            const Preprocessing& preprocessing) {
  Tensor tensor = make_tensor(input.name, DType::f32, tensor_shape(input, size));
  const auto values = elements<float>(tensor);
  const bool first = input.layout == Layout::nchw;
  const std::size_t pixels = static_cast<std::size_t>(size.width) * size.height;
  const std::size_t step = first ? 1 : image.channels;
  for (int channel = 0; channel < image.channels; ++channel) {
    const Table table =
        is_float(input.dtype) ? value_table(preprocessing, channel) : identity_table();
    const int stored = preprocessing.reverse_channels ? image.channels - 1 - channel : channel;
    const std::size_t plane = first ? channel * pixels : channel;
    for (int y = 0; y < image.height; ++y) {
      const std::uint8_t* in =
          &image.pixels[static_cast<std::size_t>(y) * image.width * image.channels + stored];
      float* out = &values[plane + static_cast<std::size_t>(y) * size.width * step];
      for (std::ptrdiff_t x = 0; x < image.width; ++x)
        out[x * step] = table[in[x * image.channels]];
    }
  }
  return tensor;
}

Size padded_size(const Preprocessing& preprocessing, const ImageInput& input, Size size) {
  if (!preprocessing.pad) return size;
  if (preprocessing.pad_to) return *preprocessing.pad_to;
  return {static_cast<int>(input.width < 0 ? size.width : input.width),
          static_cast<int>(input.height < 0 ? size.height : input.height)};
}

void check_values(const Preprocessing& preprocessing, const ImageInput& input) {
  for (const auto* values : {&preprocessing.mean, &preprocessing.std})
    if (values->size() > 1 && values->size() != static_cast<std::size_t>(input.channels))
      throw Error(fmt::format("[preprocess] {}: the model takes {} channels, mean or std has {}",
                              input.name, input.channels, values->size()));
}

void check_fits(const Preprocessing& preprocessing, const ImageInput& input, Size image,
                Size padded) {
  if (image.width > padded.width || image.height > padded.height)
    throw Error(
        fmt::format("[preprocess] {}: an image of {}x{} (height x width) cannot be padded to {}x{}",
                    input.name, image.height, image.width, padded.height, padded.width));
  const bool fits = (input.height < 0 || input.height == padded.height) &&
                    (input.width < 0 || input.width == padded.width);
  if (fits) return;
  const auto dim = [](std::int64_t size) { return size < 0 ? "?" : std::to_string(size); };
  const bool resizes = preprocessing.resize || preprocessing.center_crop;
  throw Error(
      fmt::format("[preprocess] {}: an image of {}x{} (height x width), model expects {}x{}; {}",
                  input.name, padded.height, padded.width, dim(input.height), dim(input.width),
                  resizes ? "the preprocessing is for another size of input"
                          : "give a preprocessing or a size to resize to"));
}

bool is_channel_count(const Dim& dim) { return dim.size == 1 || dim.size == 3; }

}  // namespace

ImageInput image_input(const TensorSpec& spec) {
  if (!spec.ranked) return {.name = spec.name, .dtype = spec.dtype, .channels = 0};
  const auto& dims = spec.shape;
  const bool is_image = dims.size() == 4 && (is_channel_count(dims[1]) ||
                                             is_channel_count(dims[3]) || dims[1].is_dynamic());
  if (!is_image)
    throw Error(
        fmt::format("[preprocess] {}: expected images, [batch,channels,height,width] or "
                    "[batch,height,width,channels] with 1 or 3 channels, model has {}",
                    spec.name, format_shape(dims)));
  const bool last = !is_channel_count(dims[1]) && is_channel_count(dims[3]);
  const std::size_t channels = last ? 3 : 1, height = last ? 1 : 2;
  return {.name = spec.name,
          .dtype = spec.dtype,
          .layout = last ? Layout::nhwc : Layout::nchw,
          .channels = dims[channels].is_dynamic() ? 3 : static_cast<int>(dims[channels].size),
          .batch = dims[0].size,
          .height = dims[height].size,
          .width = dims[height + 1].size};
}

Size resized_size(const ResizeRule& rule, Size image) {
  if (rule.exact) return *rule.exact;
  const bool is_portrait = image.width <= image.height;
  const double shorter = is_portrait ? image.width : image.height;
  const double longer = is_portrait ? image.height : image.width;
  int new_shorter = rule.shortest_edge;
  int new_longer = static_cast<int>(rule.shortest_edge * longer / shorter);
  if (rule.shortest_edge == 0) {
    const double scale = rule.longest_edge / longer;
    new_shorter = static_cast<int>(std::floor(shorter * scale + 0.5));
    new_longer = static_cast<int>(std::floor(longer * scale + 0.5));
  } else if (rule.longest_edge > 0 && new_longer > rule.longest_edge) {
    new_shorter = rule.longest_edge * new_shorter / new_longer;
    new_longer = rule.longest_edge;
  }
  return is_portrait ? Size{new_shorter, new_longer} : Size{new_longer, new_shorter};
}

Tensor preprocess(Image image, const Preprocessing& preprocessing, const ImageInput& model_input) {
  ImageInput input = model_input;
  if (input.channels == 0) input.channels = image.channels;
  check_values(preprocessing, input);
  const Image ready =
      resize_and_crop(with_channels(std::move(image), input.channels), preprocessing);
  const Size size{ready.width, ready.height};
  const Size padded = padded_size(preprocessing, input, size);
  check_fits(preprocessing, input, size, padded);
  Tensor tensor = fill(ready, input, padded, preprocessing);
  return input.dtype == DType::f32 ? std::move(tensor) : convert(tensor, input.dtype);
}

Tensor preprocess_label_map(const Image& map, const Preprocessing& preprocessing,
                            const ImageInput& input) {
  Preprocessing moved = preprocessing;
  if (moved.resize) moved.resize->filter = Filter::nearest;
  const Image labels = resize_and_crop(map, moved);
  Image everywhere = map;
  std::ranges::fill(everywhere.pixels, std::uint8_t{1});
  const Image inside = resize_and_crop(everywhere, moved);
  const Size size = padded_size(preprocessing, input, {labels.width, labels.height});
  check_fits(preprocessing, input, {labels.width, labels.height}, size);
  Tensor tensor = make_tensor("labels", DType::i64, {size.height, size.width});
  const auto values = elements<std::int64_t>(tensor);
  std::ranges::fill(values, -1);
  for (int y = 0; y < labels.height; ++y)
    for (int x = 0; x < labels.width; ++x) {
      const std::size_t at = static_cast<std::size_t>(y) * labels.width + x;
      if (inside.pixels[at] != 0)
        values[static_cast<std::size_t>(y) * size.width + x] = labels.pixels[at];
    }
  return tensor;
}

}  // namespace vernier
