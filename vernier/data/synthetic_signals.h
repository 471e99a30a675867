#pragma once

#include <cstdint>
#include <vector>

#include "vernier/data/numpy_random.h"
#include "vernier/data/synthetic.h"

// The parts of draw_sample(). Everything is computed with additions, multiplications, divisions and
// square roots, whose results IEEE 754 defines, and without functions of the C library that differ
// between its versions.
namespace vernier {

double sine(double turns);  // sin(2 pi turns), within 1e-9
double bump(double x);      // exp(-x * x / 2), within 1e-9

double uniform(Pcg64& random, double low, double high);
std::int64_t whole_number(Pcg64& random, std::int64_t low, std::int64_t high);  // in [low, high]
double nearly_normal(Pcg64& random);  // the sum of twelve uniform numbers, minus 6

// An image [channels, height, width] with pixels in [0, 1].
struct Picture {
  std::int64_t channels, height, width;
  std::vector<float> pixels;
  float& at(std::int64_t channel, std::int64_t row, std::int64_t column) {
    return pixels[static_cast<std::size_t>((channel * height + row) * width + column)];
  }
};
Picture draw_picture(ImageFamily family, std::int64_t channels, std::int64_t height,
                     std::int64_t width, Pcg64& random);
Picture breed_picture(const Picture& first, const Picture& second, Pcg64& random);

// A voice-like waveform at 16 kHz, in [-1, 1].
std::vector<float> draw_voice(std::int64_t count, Pcg64& random);

}  // namespace vernier
