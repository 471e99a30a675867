#include "vernier/data/synthetic.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "vernier/data/synthetic_signals.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

// The sizes of an image tensor's axes, for either channel layout.
struct ImageAxes {
  std::int64_t images, channels, height, width;
};

ImageAxes image_axes(const InputKind& kind, const Shape& shape) {
  if (kind.channels_last) return {shape[0], shape[3], shape[1], shape[2]};
  return {shape[0], shape[1], shape[2], shape[3]};
}

// The index in the tensor of a pixel of a picture.
std::size_t pixel_index(const InputKind& kind, const ImageAxes& axes, std::int64_t image,
                        std::int64_t pixel) {
  const std::int64_t area = axes.height * axes.width, all = axes.channels * area;
  const std::int64_t inside =
      kind.channels_last ? pixel % area * axes.channels + pixel / area : pixel;
  return static_cast<std::size_t>(image * all + inside);
}

Interval range_of(const InputKind& kind, const InputDraw& draw) {
  if (kind.range) return *kind.range;
  if (is_float(draw.dtype)) return {draw.range.low, draw.range.high};
  return {draw.range.low, draw.range.high - 1};
}

// Maps a value in [0, 1] to the range. Rounded to nearest for integer types.
float scaled(double value, const Interval& range, DType dtype) {
  const double real = range.low + value * (range.high - range.low);
  return static_cast<float>(is_float(dtype) ? real : std::floor(real + 0.5));
}

Tensor from_floats(const InputDraw& draw, const std::vector<float>& values) {
  return convert(tensor_of<float>(draw.name, DType::f32, draw.shape, values), draw.dtype);
}

Tensor from_integers(const InputDraw& draw, const std::vector<std::int64_t>& values) {
  return convert(tensor_of<std::int64_t>(draw.name, DType::i64, draw.shape, values), draw.dtype);
}

Tensor filled(const InputDraw& draw, double value) {
  return from_floats(draw, std::vector<float>(static_cast<std::size_t>(element_count(draw.shape)),
                                              static_cast<float>(value)));
}

Tensor draw_image(const InputKind& kind, const InputDraw& draw, ImageFamily family, Pcg64& random) {
  const ImageAxes axes = image_axes(kind, draw.shape);
  std::vector<float> values(static_cast<std::size_t>(element_count(draw.shape)));
  for (std::int64_t image = 0; image < axes.images; ++image) {
    const Picture picture = draw_picture(family, axes.channels, axes.height, axes.width, random);
    for (std::size_t i = 0; i < picture.pixels.size(); ++i)
      values[pixel_index(kind, axes, image, static_cast<std::int64_t>(i))] =
          scaled(picture.pixels[i], range_of(kind, draw), draw.dtype);
  }
  return from_floats(draw, values);
}

// If the input's calibration range is narrower than [-1, 1], the model was calibrated with quieter
// recordings: the waveform is scaled down.
Tensor draw_audio(const InputKind& kind, const InputDraw& draw, Pcg64& random) {
  const std::int64_t count = draw.shape.back();
  const double loudest =
      kind.range ? std::min(1.0, std::max(-kind.range->low, kind.range->high)) : 1;
  std::vector<float> values;
  for (std::int64_t i = count > 0 ? element_count(draw.shape) / count : 0; i > 0; --i)
    for (const float value : draw_voice(count, random))
      values.push_back(static_cast<float>(static_cast<double>(value) * loudest));
  return from_floats(draw, values);
}

// Draws ids from a part of the range, and repeats one id over a part of each row: with uniform ids
// over the whole range, the effect of a single id averages out.
Tensor draw_ids(const InputKind& kind, const InputDraw& draw, Pcg64& random) {
  const Interval range = range_of(kind, draw);
  const auto low = static_cast<std::int64_t>(range.low);
  const auto high = static_cast<std::int64_t>(range.high);
  const std::int64_t first = whole_number(random, low, high);
  const std::int64_t last = whole_number(random, first, high);
  const std::int64_t row = draw.shape.empty() ? 1 : draw.shape.back();
  std::vector<std::int64_t> ids(static_cast<std::size_t>(element_count(draw.shape)));
  for (std::int64_t& id : ids) id = whole_number(random, first, last);
  for (std::size_t begin = 0; begin < ids.size(); begin += static_cast<std::size_t>(row)) {
    const std::int64_t length = whole_number(random, row / 10, row / 2);
    const std::int64_t start = whole_number(random, 0, row - length);
    const std::int64_t id = whole_number(random, first, last);
    std::fill_n(ids.begin() + static_cast<std::int64_t>(begin) + start, length, id);
  }
  return from_integers(draw, ids);
}

// A single number takes the choices in turn, one per sample; elements of a tensor are random.
Tensor draw_choices(const InputKind& kind, const InputDraw& draw, std::int64_t sample,
                    Pcg64& random) {
  const std::int64_t count = element_count(draw.shape), last = std::ssize(kind.choices) - 1;
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i)
    values.push_back(static_cast<float>(kind.choices[static_cast<std::size_t>(
        count == 1 ? sample % (last + 1) : whole_number(random, 0, last))]));
  return from_floats(draw, values);
}

// Fractions that fill the interval from 0 to 1 evenly, however many are taken: 1/2, 1/4, 3/4,
// 1/8...
double spread_fraction(std::int64_t index) {
  double fraction = 0, digit = 0.5;
  for (std::int64_t rest = index + 1; rest > 0; rest /= 2, digit /= 2)
    fraction += digit * static_cast<double>(rest % 2);
  return fraction;
}

// All ones; in every second sample, rows end with zeros, as with padding, so that a model that
// ignores its mask is noticed. Of a batch of texts, some are mostly padding.
Tensor draw_mask(const InputDraw& draw, std::int64_t sample) {
  const std::int64_t row = draw.shape.empty() ? 1 : draw.shape.back();
  const auto wanted =
      static_cast<std::int64_t>(static_cast<double>(row) * spread_fraction(sample / 2));
  const std::int64_t zeros =
      sample % 2 == 0 || row < 2 ? 0 : std::clamp<std::int64_t>(wanted, 1, row - 1);
  std::vector<float> values(static_cast<std::size_t>(element_count(draw.shape)), 1);
  for (std::size_t i = 0; i < values.size(); ++i)
    if (static_cast<std::int64_t>(i) % row >= row - zeros) values[i] = 0;
  return from_floats(draw, values);
}

Tensor draw_positions(const InputDraw& draw) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(element_count(draw.shape)));
  const std::int64_t row = draw.shape.empty() ? 1 : draw.shape.back();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int64_t>(i) % row;
  return from_integers(draw, values);
}

Tensor draw_table(const InputKind& kind, const InputDraw& draw, Pcg64& random) {
  std::vector<float> values;
  const std::int64_t count = element_count(draw.shape);
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i)
    values.push_back(
        static_cast<float>(kind.means[i % kind.means.size()] +
                           kind.deviations[i % kind.deviations.size()] * nearly_normal(random)));
  return from_floats(draw, values);
}

Tensor draw_values(const InputKind& kind, InputDraw draw, const DrawKey& key, Pcg64& random) {
  if (!kind.means.empty() && !kind.deviations.empty()) return draw_table(kind, draw, random);
  if (kind.range && is_float(draw.dtype)) draw.range = {kind.range->low, kind.range->high};
  return vernier::draw(draw, key);
}

// The length of the other inputs: the first second axis found, else the longest first axis.
std::int64_t length_of_others(const SyntheticInputs& inputs, std::size_t input) {
  std::int64_t length = 1;
  for (std::size_t i = 0; i < inputs.draws.size(); ++i) {
    const Shape& shape = inputs.draws[i].shape;
    if (i == input || shape.empty() || inputs.kinds[i].role == InputRole::state) continue;
    if (shape.size() > 1) return shape[1];
    length = std::max(length, shape[0]);
  }
  return length;
}

Tensor draw_input(const SyntheticInputs& inputs, std::size_t index, std::int64_t sample,
                  ImageFamily family) {
  if (const auto constant = inputs.constants.find(index); constant != inputs.constants.end())
    return constant->second;
  const InputKind& kind = inputs.kinds[index];
  const InputDraw& draw = inputs.draws[index];
  const DrawKey key{inputs.seed, sample, static_cast<std::int64_t>(index)};
  const std::array<std::uint64_t, 4> entropy = {inputs.seed, static_cast<std::uint64_t>(sample),
                                                index, 1 + static_cast<std::uint64_t>(family)};
  const bool many_families = kind.role == InputRole::image;
  Pcg64 random(std::span<const std::uint64_t>(entropy).first(many_families ? 4 : 3));
  switch (kind.role) {
    case InputRole::image: return draw_image(kind, draw, family, random);
    case InputRole::audio: return draw_audio(kind, draw, random);
    case InputRole::ids: return draw_ids(kind, draw, random);
    case InputRole::choices: return draw_choices(kind, draw, sample, random);
    case InputRole::positions: return draw_positions(draw);
    case InputRole::mask: return draw_mask(draw, sample);
    case InputRole::condition: return filled(draw, static_cast<double>((sample + 1) % 2));
    case InputRole::length:
      return filled(draw, static_cast<double>(length_of_others(inputs, index)));
    case InputRole::state: return filled(draw, 0);
    case InputRole::values: break;
  }
  return draw_values(kind, draw, key, random);
}

// The pictures in a tensor, scaled to [0, 1].
std::vector<Picture> pictures_of(const Tensor& tensor, const InputKind& kind,
                                 const InputDraw& draw) {
  const ImageAxes axes = image_axes(kind, draw.shape);
  const Interval range = range_of(kind, draw);
  const double width = range.high > range.low ? range.high - range.low : 1;
  const std::vector<float> values = to_f32(tensor);
  std::vector<Picture> pictures;
  for (std::int64_t image = 0; image < axes.images; ++image) {
    Picture picture{axes.channels, axes.height, axes.width, {}};
    for (std::int64_t i = 0; i < axes.channels * axes.height * axes.width; ++i)
      picture.pixels.push_back(static_cast<float>(
          (static_cast<double>(values[pixel_index(kind, axes, image, i)]) - range.low) / width));
    pictures.push_back(std::move(picture));
  }
  return pictures;
}

Tensor breed_image(const InputKind& kind, const InputDraw& draw, const Tensor& first,
                   const Tensor& second, Pcg64& random) {
  const ImageAxes axes = image_axes(kind, draw.shape);
  const std::vector<Picture> mothers = pictures_of(first, kind, draw);
  const std::vector<Picture> fathers = pictures_of(second, kind, draw);
  std::vector<float> values(static_cast<std::size_t>(element_count(draw.shape)));
  for (std::size_t image = 0; image < mothers.size(); ++image) {
    const Picture child = breed_picture(mothers[image], fathers[image], random);
    for (std::size_t i = 0; i < child.pixels.size(); ++i)
      values[pixel_index(kind, axes, static_cast<std::int64_t>(image),
                         static_cast<std::int64_t>(i))] =
          scaled(child.pixels[i], range_of(kind, draw), draw.dtype);
  }
  return from_floats(draw, values);
}

}  // namespace

// Taylor series around 0, after folding into [-1/4, 1/4] turns. The next term is below 1e-11.
double sine(double turns) {
  double folded = turns - std::floor(turns + 0.5);  // [-0.5, 0.5)
  if (folded > 0.25) folded = 0.5 - folded;
  if (folded < -0.25) folded = -0.5 - folded;
  const double x = folded * 6.283185307179586, square = x * x;
  double sum = 1;
  for (int power = 15; power >= 1; power -= 2) sum = 1 - square / ((power + 1) * (power + 2)) * sum;
  return x * sum;
}

// exp(-y) is computed as a power of two times exp(r), with -ln 2 < r <= 0.
double bump(double x) {
  constexpr double ln2 = 0.6931471805599453;
  const double y = x * x / 2;
  if (y > 700) return 0;
  const double halvings = std::floor(y / ln2), r = halvings * ln2 - y;
  double sum = 1;
  for (int power = 12; power >= 1; --power) sum = 1 + r / power * sum;
  return std::ldexp(sum, -static_cast<int>(halvings));
}

double uniform(Pcg64& random, double low, double high) {
  return low + (high - low) * random.next_f64();
}

std::int64_t whole_number(Pcg64& random, std::int64_t low, std::int64_t high) {
  const double count = static_cast<double>(high - low) + 1;
  return low + static_cast<std::int64_t>(random.next_f64() * count);
}

double nearly_normal(Pcg64& random) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += random.next_f64();
  return sum;
}

std::string_view family_name(ImageFamily family) {
  constexpr std::string_view names[] = {"octave noise", "strokes",    "blobs",
                                        "dead leaves",  "pink noise", "flat and gradient"};
  return names[static_cast<int>(family)];
}

std::vector<Tensor> draw_sample(const SyntheticInputs& inputs, std::int64_t sample,
                                ImageFamily family) {
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < inputs.draws.size(); ++i)
    tensors.push_back(draw_input(inputs, i, sample, family));
  return tensors;
}

std::vector<Tensor> breed(const SyntheticInputs& inputs, std::span<const Tensor> first,
                          std::span<const Tensor> second, std::int64_t child) {
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < inputs.draws.size(); ++i) {
    const std::array<std::uint64_t, 4> entropy = {inputs.seed, static_cast<std::uint64_t>(child), i,
                                                  0};
    Pcg64 random(entropy);
    const InputKind& kind = inputs.kinds[i];
    tensors.push_back(kind.role == InputRole::image && !inputs.constants.contains(i)
                          ? breed_image(kind, inputs.draws[i], first[i], second[i], random)
                          : first[i]);
  }
  return tensors;
}

}  // namespace vernier
