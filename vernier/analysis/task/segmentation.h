#pragma once

#include <vector>

#include "vernier/metrics/segmentation.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

// One confusion for each image of a batch. Predictions are classes [images, height, width] or
// logits [images, classes, height, width]; labels are [images, height, width]. Without a number of
// classes, it is that of the logits, or one more than the highest class of either side.
std::vector<Confusion> image_confusions(const TensorView& predictions, const TensorView& labels,
                                        const SegmentationOptions& options);

}  // namespace vernier
