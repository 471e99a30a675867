#pragma once

#include <memory>
#include <optional>
#include <string>

#include "vernier/data/dataset.h"

namespace vernier {

// A row of an array as it is meant: bytes of the shape [H,W], [C,H,W] or [H,W,C], with C 1 or 3,
// are an image; anything else is a ready input.
std::variant<Unreadable, EncodedImage, Image, Tensor> image_or_tensor(Tensor row);

// A dataset in memory: rows of an array and, if there are any, a label for each. Labels of more
// than one element each are targets: maps of labels, or token ids. `subject` names the source in
// errors and ids.
std::unique_ptr<Dataset> make_array_dataset(Tensor inputs, const std::optional<Tensor>& labels,
                                            const std::string& subject);

}  // namespace vernier
