#pragma once

#include <memory>
#include <optional>
#include <string>

#include "vernier/data/dataset.h"

namespace vernier {

// Interprets a row of an array: uint8 of shape [H,W], [C,H,W] or [H,W,C], with C 1 or 3, is an
// image; anything else is a ready input.
std::variant<Unreadable, EncodedImage, Image, Tensor> image_or_tensor(Tensor row);

// A dataset in memory: the rows of an array and, optionally, a label for each. Labels with more
// than one element per row are targets: label maps or token ids. `subject` names the source in
// errors and ids.
std::unique_ptr<Dataset> make_array_dataset(Tensor inputs, const std::optional<Tensor>& labels,
                                            const std::string& subject);

}  // namespace vernier
