#pragma once

#include <memory>
#include <optional>
#include <string>

#include "vernier/data/dataset.h"

namespace vernier {

// A dataset in memory: rows of an array and, if there are any, a label for each. Bytes of the shape
// [N,H,W], [N,C,H,W] or [N,H,W,C], with C 1 or 3, are images; anything else is ready inputs. Labels
// of more than one element each are targets: maps of labels, or token ids.
// `subject` names the source in errors and ids.
std::unique_ptr<Dataset> make_array_dataset(Tensor inputs, const std::optional<Tensor>& labels,
                                            const std::string& subject);

}  // namespace vernier
