#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "vernier/data/random.h"
#include "vernier/tensor/input_kind.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

// Kinds of synthetic pictures. None suits every model: the caller tries several and keeps the best.
enum class ImageFamily { octaves, strokes, blobs, dead_leaves, pink_noise, gradient };
inline constexpr std::array image_families = {ImageFamily::octaves,    ImageFamily::strokes,
                                              ImageFamily::blobs,      ImageFamily::dead_leaves,
                                              ImageFamily::pink_noise, ImageFamily::gradient};
std::string_view family_name(ImageFamily family);  // "octave noise", "dead leaves"

// How the inputs of a model are drawn; `draws` and `kinds` are in the order of its inputs. The
// range of a kind takes precedence over that of its draw, so leave it out if the user gave a range.
struct SyntheticInputs {
  std::vector<InputDraw> draws;
  std::vector<InputKind> kinds;
  std::uint64_t seed = 42;
  std::map<std::size_t, Tensor> constants = {};  // fixed inputs, by position; not drawn
};

// Synthetic inputs that resemble real ones. They depend only on seed, sample, family and the
// position of the input, and are the same bytes on every CPU and with every compiler: they are
// computed with additions, multiplications, divisions and square roots. (InputRole::values without
// means is drawn by draw(), as numpy does.)
std::vector<Tensor> draw_sample(const SyntheticInputs& inputs, std::int64_t sample,
                                ImageFamily family);

// A sample made from two others: images are blended, changed in contrast or brightness, blurred,
// pasted into each other or flipped; other inputs are those of `first`. `child` seeds the choice.
std::vector<Tensor> breed(const SyntheticInputs& inputs, std::span<const Tensor> first,
                          std::span<const Tensor> second, std::int64_t child);

}  // namespace vernier
