#include <algorithm>
#include <cmath>
#include <utility>

#include "vernier/data/synthetic_signals.h"

namespace vernier {
namespace {

// One channel: a number for each pixel.
class Plane {
 public:
  Plane(std::int64_t height, std::int64_t width, double value = 0)
      : height_(height), width_(width), values_(static_cast<std::size_t>(height * width), value) {}

  std::int64_t height() const { return height_; }
  std::int64_t width() const { return width_; }
  std::vector<double>& values() { return values_; }
  double& at(std::int64_t row, std::int64_t column) {
    return values_[static_cast<std::size_t>(row * width_ + column)];
  }
  double at(std::int64_t row, std::int64_t column) const {
    return values_[static_cast<std::size_t>(row * width_ + column)];
  }

 private:
  std::int64_t height_, width_;
  std::vector<double> values_;
};

double mix(double low, double high, double share) { return low + (high - low) * share; }
double unit(Pcg64& random) { return uniform(random, 0, 1); }

// Adds noise with features of `cell` pixels: random numbers on a lattice, smoothly interpolated.
void add_noise(Plane& plane, double cell, double amplitude, Pcg64& random) {
  const auto rows = static_cast<std::int64_t>(static_cast<double>(plane.height()) / cell) + 2;
  const auto columns = static_cast<std::int64_t>(static_cast<double>(plane.width()) / cell) + 2;
  Plane lattice(rows, columns);
  for (double& value : lattice.values()) value = uniform(random, -amplitude, amplitude);
  const auto place = [&](std::int64_t pixel) {
    const double at = static_cast<double>(pixel) / cell;
    const auto knot = static_cast<std::int64_t>(at);
    const double share = at - static_cast<double>(knot);
    return std::pair(knot, share * share * (3 - 2 * share));
  };
  for (std::int64_t y = 0; y < plane.height(); ++y)
    for (std::int64_t x = 0; x < plane.width(); ++x) {
      const auto [row, down] = place(y);
      const auto [column, right] = place(x);
      plane.at(y, x) +=
          mix(mix(lattice.at(row, column), lattice.at(row, column + 1), right),
              mix(lattice.at(row + 1, column), lattice.at(row + 1, column + 1), right), down);
    }
}

// Sums noise of feature sizes from half the picture down to `finest` pixels; each halving of the
// size multiplies the amplitude by `decay`.
Plane octaves(std::int64_t height, std::int64_t width, double finest, double decay, Pcg64& random) {
  Plane plane(height, width);
  double amplitude = 1;
  for (double cell = static_cast<double>(std::max(height, width)) / 2; cell >= finest; cell /= 2) {
    add_noise(plane, cell, amplitude, random);
    amplitude *= decay;
  }
  return plane;
}

// Scales the values linearly to [low, high].
void stretch(Plane& plane, double low, double high) {
  const auto [least, most] = std::ranges::minmax(plane.values());
  const double scale = most > least ? (high - low) / (most - least) : 0;
  for (double& value : plane.values()) value = low + (value - least) * scale;
}

struct Ends {
  double low, high;
};
// The values of the darkest and the lightest pixel, at least `contrast` apart.
Ends random_ends(double contrast, Pcg64& random) {
  const double width = uniform(random, contrast, 1);
  const double low = uniform(random, 0, 1 - width);
  return {low, low + width};
}

// A picture whose channels share most of their brightness, as in photographs.
template <typename Draw>
Picture coloured(std::int64_t channels, std::int64_t height, std::int64_t width, Pcg64& random,
                 const Draw& draw) {
  Picture picture{channels, height, width, {}};
  Plane light = draw();
  stretch(light, 0, 1);
  const Ends ends = random_ends(0.4, random);
  const double colour = channels == 1 ? 0 : uniform(random, 0, 0.4);
  for (std::int64_t channel = 0; channel < channels; ++channel) {
    Plane plane = light;
    if (colour > 0) {
      Plane own = draw();
      stretch(own, 0, 1);
      for (std::size_t i = 0; i < plane.values().size(); ++i)
        plane.values()[i] = mix(plane.values()[i], own.values()[i], colour);
    }
    for (const double value : plane.values())
      picture.pixels.push_back(static_cast<float>(mix(ends.low, ends.high, value)));
  }
  return picture;
}

// Lines of some width on an even ground, as in writing and drawings.
Plane strokes(std::int64_t height, std::int64_t width, Pcg64& random) {
  Plane plane(height, width);
  const auto h = static_cast<double>(height), w = static_cast<double>(width);
  double x0 = uniform(random, 0.2, 0.8) * w, y0 = uniform(random, 0.2, 0.8) * h;
  const double thickness = uniform(random, 0.03, 0.08) * std::max(h, w);
  for (std::int64_t i = whole_number(random, 3, 8); i > 0; --i) {
    const double x1 = uniform(random, 0.15, 0.85) * w, y1 = uniform(random, 0.15, 0.85) * h;
    const double light = uniform(random, 0.6, 1);
    const double dx = x1 - x0, dy = y1 - y0, squared = std::max(dx * dx + dy * dy, 1e-6);
    for (std::int64_t y = 0; y < height; ++y)
      for (std::int64_t x = 0; x < width; ++x) {
        const double px = static_cast<double>(x) - x0, py = static_cast<double>(y) - y0;
        const double along = std::clamp((px * dx + py * dy) / squared, 0.0, 1.0);
        const double ex = px - along * dx, ey = py - along * dy;
        const double cover = std::clamp(thickness - std::sqrt(ex * ex + ey * ey) + 0.5, 0.0, 1.0);
        plane.at(y, x) = std::max(plane.at(y, x), light * cover);
      }
    if (unit(random) < 0.7) {  // most lines start where the previous one ended
      x0 = x1;
      y0 = y1;
    } else {
      x0 = uniform(random, 0.2, 0.8) * w;
      y0 = uniform(random, 0.2, 0.8) * h;
    }
  }
  return plane;
}

Picture stroke_picture(std::int64_t channels, std::int64_t height, std::int64_t width,
                       Pcg64& random) {
  const Plane lines = strokes(height, width, random);
  const bool dark_ground = unit(random) < 0.7;
  Picture picture{channels, height, width, {}};
  for (std::int64_t channel = 0; channel < channels; ++channel) {
    const double ground = dark_ground ? 0 : uniform(random, 0.7, 1);
    const double ink = dark_ground ? 1 : uniform(random, 0, 0.3);
    for (std::int64_t y = 0; y < height; ++y)
      for (std::int64_t x = 0; x < width; ++x)
        picture.pixels.push_back(static_cast<float>(mix(ground, ink, lines.at(y, x))));
  }
  return picture;
}

Plane blobs(std::int64_t height, std::int64_t width, Pcg64& random) {
  Plane plane(height, width);
  const auto side = static_cast<double>(std::max(height, width));
  for (std::int64_t i = whole_number(random, 5, 20); i > 0; --i) {
    const double cx = unit(random) * static_cast<double>(width);
    const double cy = unit(random) * static_cast<double>(height);
    const double radius = uniform(random, 0.03, 0.25) * side;
    const double light = uniform(random, -1, 1);
    std::vector<double> along;
    for (std::int64_t x = 0; x < width; ++x)
      along.push_back(bump((static_cast<double>(x) - cx) / radius));
    for (std::int64_t y = 0; y < height; ++y) {
      const double across = bump((static_cast<double>(y) - cy) / radius) * light;
      for (std::int64_t x = 0; x < width; ++x)
        plane.at(y, x) += across * along[static_cast<std::size_t>(x)];
    }
  }
  return plane;
}

// Overlapping textured discs, small ones more frequent than large ones.
Picture dead_leaves(std::int64_t channels, std::int64_t height, std::int64_t width, Pcg64& random) {
  Picture picture{channels, height, width,
                  std::vector<float>(static_cast<std::size_t>(channels * height * width), 0.5f)};
  Plane texture = octaves(height, width, 1, uniform(random, 0.6, 1), random);
  stretch(texture, -1, 1);
  const auto side = static_cast<double>(std::max(height, width));
  const double least = std::max(1.0, side / 40);
  for (int leaf = 0; leaf < 150; ++leaf) {
    const double radius = std::min(least / std::sqrt(unit(random) + 1e-3), side / 3);
    const double cx = unit(random) * static_cast<double>(width);
    const double cy = unit(random) * static_cast<double>(height);
    const double grey = unit(random), rough = uniform(random, 0, 0.3);
    std::vector<double> colour;
    for (std::int64_t channel = 0; channel < channels; ++channel)
      colour.push_back(channels == 1 ? grey : mix(grey, unit(random), 0.4));
    const auto first = [&](double centre) {
      return std::max<std::int64_t>(0, static_cast<std::int64_t>(centre - radius));
    };
    const auto last = [&](double centre, std::int64_t size) {
      return std::min(size, static_cast<std::int64_t>(centre + radius) + 1);
    };
    for (std::int64_t y = first(cy); y < last(cy, height); ++y)
      for (std::int64_t x = first(cx); x < last(cx, width); ++x) {
        const double dx = static_cast<double>(x) - cx, dy = static_cast<double>(y) - cy;
        if (dx * dx + dy * dy > radius * radius) continue;
        for (std::int64_t channel = 0; channel < channels; ++channel)
          picture.at(channel, y, x) = static_cast<float>(std::clamp(
              colour[static_cast<std::size_t>(channel)] + rough * texture.at(y, x), 0.0, 1.0));
      }
  }
  return picture;
}

// Brightness that changes slowly in one direction, with little noise.
Picture gradient(std::int64_t channels, std::int64_t height, std::int64_t width, Pcg64& random) {
  Picture picture{channels, height, width, {}};
  const double direction = unit(random);
  const double down = sine(direction) / static_cast<double>(std::max<std::int64_t>(height, 1));
  const double right =
      sine(direction + 0.25) / static_cast<double>(std::max<std::int64_t>(width, 1));
  const double grey = unit(random), slope = uniform(random, 0, 0.6);
  for (std::int64_t channel = 0; channel < channels; ++channel) {
    const double base = channels == 1 ? grey : mix(grey, unit(random), 0.3);
    for (std::int64_t y = 0; y < height; ++y)
      for (std::int64_t x = 0; x < width; ++x)
        picture.pixels.push_back(static_cast<float>(std::clamp(
            base + slope * (down * static_cast<double>(y) + right * static_cast<double>(x)) +
                uniform(random, -0.01, 0.01),
            0.0, 1.0)));
  }
  return picture;
}

template <typename Change>
Picture changed(Picture picture, const Change& change) {
  for (float& pixel : picture.pixels)
    pixel = static_cast<float>(std::clamp(change(static_cast<double>(pixel)), 0.0, 1.0));
  return picture;
}

Picture blurred(Picture source) {
  Picture result = source;
  for (std::int64_t channel = 0; channel < source.channels; ++channel)
    for (std::int64_t y = 0; y < source.height; ++y)
      for (std::int64_t x = 0; x < source.width; ++x) {
        double sum = 0;
        for (std::int64_t dy = -1; dy <= 1; ++dy)
          for (std::int64_t dx = -1; dx <= 1; ++dx)
            sum += static_cast<double>(
                source.at(channel, std::clamp<std::int64_t>(y + dy, 0, source.height - 1),
                          std::clamp<std::int64_t>(x + dx, 0, source.width - 1)));
        result.at(channel, y, x) = static_cast<float>(sum / 9);
      }
  return result;
}

// Pastes a part of the second picture, a quarter to three quarters of each side, onto the first.
Picture pasted(Picture first, Picture second, Pcg64& random) {
  const auto part = [&](std::int64_t size) {
    const std::int64_t length = whole_number(random, size / 4, size * 3 / 4);
    const std::int64_t begin = whole_number(random, 0, size - length);
    return std::pair(begin, begin + length);
  };
  const auto [top, bottom] = part(first.height);
  const auto [left, right] = part(first.width);
  for (std::int64_t channel = 0; channel < first.channels; ++channel)
    for (std::int64_t y = top; y < bottom; ++y)
      for (std::int64_t x = left; x < right; ++x)
        first.at(channel, y, x) = second.at(channel, y, x);
  return first;
}

Picture flipped(Picture picture) {
  for (auto row = picture.pixels.begin(); row < picture.pixels.end(); row += picture.width)
    std::reverse(row, row + picture.width);
  return picture;
}

}  // namespace

Picture draw_picture(ImageFamily family, std::int64_t channels, std::int64_t height,
                     std::int64_t width, Pcg64& random) {
  if (channels * height * width == 0) return {channels, height, width, {}};
  const auto with = [&](const auto& plane) {
    return coloured(channels, height, width, random, plane);
  };
  switch (family) {
    case ImageFamily::octaves: {
      const double decay = uniform(random, 0.4, 0.75);
      return with([&] { return octaves(height, width, 1, decay, random); });
    }
    case ImageFamily::strokes: return stroke_picture(channels, height, width, random);
    case ImageFamily::blobs: return with([&] { return blobs(height, width, random); });
    case ImageFamily::dead_leaves: return dead_leaves(channels, height, width, random);
    case ImageFamily::pink_noise: return with([&] { return octaves(height, width, 1, 1, random); });
    case ImageFamily::gradient: break;
  }
  return gradient(channels, height, width, random);
}

Picture breed_picture(const Picture& first, const Picture& second, Pcg64& random) {
  switch (whole_number(random, 0, 5)) {
    case 0: {
      const double share = uniform(random, 0.2, 0.8);
      Picture blend = first;
      for (std::size_t i = 0; i < blend.pixels.size(); ++i)
        blend.pixels[i] = static_cast<float>(mix(static_cast<double>(first.pixels[i]),
                                                 static_cast<double>(second.pixels[i]), share));
      return blend;
    }
    case 1: {
      const double contrast = uniform(random, 0.5, 1.6);
      return changed(first, [&](double pixel) { return 0.5 + (pixel - 0.5) * contrast; });
    }
    case 2: {
      const double light = uniform(random, -0.25, 0.25);
      return changed(first, [&](double pixel) { return pixel + light; });
    }
    case 3: return blurred(first);
    case 4: return pasted(first, second, random);
    default: return flipped(first);
  }
}

}  // namespace vernier
