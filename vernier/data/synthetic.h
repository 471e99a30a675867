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

// Kinds of pictures. None is right for every model: the caller tries them and keeps what fits.
enum class ImageFamily { octaves, strokes, blobs, dead_leaves, pink_noise, gradient };
inline constexpr std::array image_families = {ImageFamily::octaves,    ImageFamily::strokes,
                                              ImageFamily::blobs,      ImageFamily::dead_leaves,
                                              ImageFamily::pink_noise, ImageFamily::gradient};
std::string_view family_name(ImageFamily family);  // "octave noise", "dead leaves"

// How the inputs of a model are drawn: `draws` and `kinds` are in the order of its inputs. The
// range of a kind goes before that of its draw; leave it out of the kind where the user gave one.
struct SyntheticInputs {
  std::vector<InputDraw> draws;
  std::vector<InputKind> kinds;
  std::uint64_t seed = 42;
  std::map<std::size_t, Tensor> constants = {};  // inputs, by position, that are not drawn
};

// Inputs like those that a model is made for. They depend on seed, sample, family and the position
// of the input alone, and are the same bytes on every CPU and with every compiler: they are
// computed with additions, multiplications, divisions and square roots. (Only what is drawn as
// draw() does, InputRole::values without means, is numpy's.)
std::vector<Tensor> draw_sample(const SyntheticInputs& inputs, std::int64_t sample,
                                ImageFamily family);

// A sample made of two others: images are blended, made paler, brighter or darker, blurred, cut and
// pasted or flipped; other inputs are the first parent's. `child` says which draw it is.
std::vector<Tensor> breed(const SyntheticInputs& inputs, std::span<const Tensor> first,
                          std::span<const Tensor> second, std::int64_t child);

}  // namespace vernier
