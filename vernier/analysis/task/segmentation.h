#pragma once

#include <vector>

#include "vernier/metrics/segmentation.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

// The pixels of each image of a batch. Predictions are classes [images, height, width] or
// logits [images, classes, height, width]; labels are [images, height, width]. Without a number of
// classes, it is that of the logits, or one more than the highest class of either side.
std::vector<ImagePixels> segmented_images(const TensorView& predictions, const TensorView& labels,
                                          const SegmentationOptions& options);

// The predicted classes of one image at the size of its map of labels: logits
// [classes, height, width] of another size are interpolated, classes [height, width] are repeated
// or skipped.
std::vector<std::int64_t> predicted_map(const TensorView& prediction, std::int64_t height,
                                        std::int64_t width);

}  // namespace vernier
