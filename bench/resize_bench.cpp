// Resizing beside Pillow: prints microseconds an image; compare with
//   python3 -m timeit -s "from PIL import Image; i=Image.effect_noise((500,375),99).convert('RGB')"
//   "i.resize((341,256),3)"
#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "vernier/data/resize.h"

namespace {

using namespace vernier;

// The best of several rounds.
template <typename Work>
double best_time(Work work) {
  double best = 1e9;
  for (int round = 0; round < 20; ++round) {
    const std::clock_t start = std::clock();
    for (int i = 0; i < 10; ++i) work();
    best = std::min(best, 1e5 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  }
  return best;
}

}  // namespace

int main() {
  Image image = make_image(500, 375, 3);
  for (std::size_t i = 0; i < image.pixels.size(); ++i)
    image.pixels[i] = static_cast<std::uint8_t>(i * 2654435761u >> 24);
  fmt::print("500x375 RGB to 341x256, microseconds\n");
  for (const auto filter : {Filter::nearest, Filter::box, Filter::bilinear, Filter::hamming,
                            Filter::bicubic, Filter::lanczos}) {
    const double whole = best_time([&] { resize(image, {341, 256}, filter); });
    const double cropped = best_time([&] {
      resize(image, {341, 256}, filter, {58, 16, 224, 224});
    });
    fmt::print("{:<9} {:>8.0f}   centre 224x224 only {:>8.0f}\n", filter_name(filter), whole,
               cropped);
  }
}
