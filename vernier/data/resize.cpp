#include "vernier/data/resize.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numbers>

#include "vernier/data/resample.h"
#include "vernier/error.h"

namespace vernier {
namespace {

constexpr std::array<std::string_view, 6> names = {"nearest", "box",     "bilinear",
                                                   "hamming", "bicubic", "lanczos"};

// The filters, as functions of the distance in pixels of the smaller of input and output. The order
// of operations is Pillow's, since the weights are then rounded to fixed point.
double box(double x) { return x > -0.5 && x <= 0.5 ? 1.0 : 0.0; }

double bilinear(double x) {
  x = std::abs(x);
  return x < 1.0 ? 1.0 - x : 0.0;
}

double hamming(double x) {
  x = std::abs(x);
  if (x == 0.0) return 1.0;
  if (x >= 1.0) return 0.0;
  x *= std::numbers::pi;
  return std::sin(x) / x * (0.54f + 0.46f * std::cos(x));
}

double bicubic(double x) {
  constexpr double a = -0.5;
  x = std::abs(x);
  if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1;
  if (x < 2.0) return (((x - 5) * x + 8) * x - 4) * a;
  return 0.0;
}

double sinc(double x) {
  if (x == 0.0) return 1.0;
  x *= std::numbers::pi;
  return std::sin(x) / x;
}

double lanczos(double x) { return x >= -3.0 && x < 3.0 ? sinc(x) * sinc(x / 3) : 0.0; }

struct Kernel {
  double (*weight)(double) = box;
  double support = 0.5;
};

Kernel kernel_of(Filter filter) {
  switch (filter) {
    case Filter::bilinear: return {bilinear, 1.0};
    case Filter::hamming: return {hamming, 1.0};
    case Filter::bicubic: return {bicubic, 2.0};
    case Filter::lanczos: return {lanczos, 3.0};
    case Filter::nearest:
    case Filter::box: break;
  }
  return {box, 0.5};
}

struct Range {
  int begin = 0;
  int end = 0;
};

// The taps of some outputs along one axis, and the weights that they point to.
struct AxisWeights {
  std::vector<std::int32_t> weights;
  std::vector<Taps> taps;
};

std::vector<double> normalised(std::vector<double> weights) {
  double sum = 0;
  for (const double weight : weights) sum += weight;
  if (sum != 0.0)
    for (double& weight : weights) weight /= sum;
  return weights;
}

std::int32_t fixed_point(double weight) {
  return static_cast<std::int32_t>((weight < 0 ? -0.5 : 0.5) + weight * (1 << weight_bits));
}

AxisWeights axis_weights(const Kernel& kernel, int in_size, int out_size, Range range) {
  const double scale = static_cast<double>(in_size) / out_size;
  const double filter_scale = std::max(scale, 1.0);
  const double support = kernel.support * filter_scale;
  const auto most_taps = static_cast<std::size_t>(std::ceil(support)) * 2 + 1;
  AxisWeights axis;
  axis.weights.reserve(most_taps * (range.end - range.begin));  // so that spans stay valid
  for (int out = range.begin; out < range.end; ++out) {
    const double center = (out + 0.5) * scale;
    const int first = std::max(0, static_cast<int>(std::floor(center - support + 0.5)));
    const int last = std::min(in_size, static_cast<int>(std::floor(center + support + 0.5)));
    std::vector<double> weights;
    for (int i = first; i < last; ++i)
      weights.push_back(kernel.weight((i - center + 0.5) * (1.0 / filter_scale)));
    const std::size_t begin = axis.weights.size();
    std::ranges::transform(normalised(std::move(weights)), std::back_inserter(axis.weights),
                           fixed_point);
    axis.taps.push_back({first, std::span(axis.weights).subspan(begin)});
  }
  return axis;
}

// The range of inputs that the taps read.
Range reach(const AxisWeights& axis) {
  const Taps& last = axis.taps.back();
  return {axis.taps.front().first, last.first + static_cast<int>(last.weights.size())};
}

Image resample_width(const Image& image, Range rows, const AxisWeights& axis) {
  Image out = make_image(static_cast<int>(axis.taps.size()), rows.end - rows.begin, image.channels);
  const std::size_t in_stride = image.pixels.size() / image.height;
  const std::size_t out_stride = out.pixels.size() / out.height;
  std::vector<std::uint8_t> row(in_stride + 1);  // weigh_pixels reads one byte past the end
  for (int y = 0; y < out.height; ++y) {
    std::memcpy(row.data(), &image.pixels[(rows.begin + y) * in_stride], in_stride);
    weigh_pixels(row.data(), image.channels, axis.taps,
                 std::span(out.pixels).subspan(y * out_stride, out_stride));
  }
  return out;
}

// `image` holds the rows of the whole image from `top` on.
Image resample_height(const Image& image, const AxisWeights& axis, int top) {
  Image out = make_image(image.width, static_cast<int>(axis.taps.size()), image.channels);
  const std::size_t stride = out.pixels.size() / out.height;
  for (int y = 0; y < out.height; ++y) {
    const Taps& taps = axis.taps[y];
    weigh_rows(&image.pixels[(taps.first - top) * stride], stride, taps.weights,
               std::span(out.pixels).subspan(y * stride, stride));
  }
  return out;
}

// Pillow resamples the width first, rounds to 8 bits between the passes, and skips a pass that does
// not change the size.
Image resample(const Image& image, Size size, Filter filter, ImageRegion region) {
  const Kernel kernel = kernel_of(filter);
  const Range columns{region.left, region.left + region.width};
  const Range rows{region.top, region.top + region.height};
  const AxisWeights vertical = axis_weights(kernel, image.height, size.height, rows);
  const bool keeps_height = image.height == size.height;
  const Range needed = keeps_height ? rows : reach(vertical);
  Image narrowed =
      image.width == size.width
          ? crop(image, {region.left, needed.begin, region.width, needed.end - needed.begin})
          : resample_width(image, needed, axis_weights(kernel, image.width, size.width, columns));
  return keeps_height ? narrowed : resample_height(narrowed, vertical, needed.begin);
}

// The input position of each output. Positions are accumulated, not multiplied, as in Pillow's
// affine transform.
std::vector<int> nearest_positions(int in_size, int out_size) {
  const double step = static_cast<double>(in_size) / out_size;
  std::vector<int> positions(out_size);
  double at = step * 0.5;
  for (int& position : positions) {
    position = std::min(static_cast<int>(at), in_size - 1);
    at += step;
  }
  return positions;
}

template <int channels>
void pick_pixels(const std::uint8_t* row, std::span<const int> columns, std::uint8_t* out) {
  for (const int column : columns) {
    std::memcpy(out, row + std::ptrdiff_t{column} * channels, channels);
    out += channels;
  }
}

Image pick_nearest(const Image& image, Size size, ImageRegion region) {
  Image out = make_image(region.width, region.height, image.channels);
  const std::vector<int> columns = nearest_positions(image.width, size.width);
  const std::vector<int> rows = nearest_positions(image.height, size.height);
  const std::span wanted = std::span(columns).subspan(region.left, region.width);
  const std::size_t in_stride = image.pixels.size() / image.height;
  const std::size_t out_stride = out.pixels.size() / out.height;
  for (int y = 0; y < region.height; ++y) {
    const std::uint8_t* row = &image.pixels[rows[region.top + y] * in_stride];
    std::uint8_t* to = &out.pixels[y * out_stride];
    image.channels == 3 ? pick_pixels<3>(row, wanted, to) : pick_pixels<1>(row, wanted, to);
  }
  return out;
}

}  // namespace

std::optional<Filter> parse_filter(std::string_view name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Filter>(found - names.begin());
}

std::string_view filter_name(Filter filter) { return names[static_cast<std::size_t>(filter)]; }

Image resize(const Image& image, Size size, Filter filter) {
  return resize(image, size, filter, {0, 0, size.width, size.height});
}

Image resize(const Image& image, Size size, Filter filter, ImageRegion region) {
  if (size.width < 1 || size.height < 1)
    throw Error(fmt::format("[resize] cannot make an image of {}x{}", size.width, size.height));
  if (size == Size{image.width, image.height}) return crop(image, region);
  if (filter == Filter::nearest) return pick_nearest(image, size, region);
  return resample(image, size, filter, region);
}

Image crop(const Image& image, ImageRegion region) {
  if (region == ImageRegion{0, 0, image.width, image.height}) return image;
  Image out = make_image(region.width, region.height, image.channels);
  const std::size_t stride = static_cast<std::size_t>(region.width) * image.channels;
  for (int y = 0; y < region.height; ++y) {
    const std::size_t from = static_cast<std::size_t>(region.top + y) * image.width + region.left;
    std::memcpy(&out.pixels[y * stride], &image.pixels[from * image.channels], stride);
  }
  return out;
}

}  // namespace vernier
