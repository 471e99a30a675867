#pragma once

#include <optional>
#include <vector>

#include "vernier/data/image.h"
#include "vernier/data/resize.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

// The size that an image is resized to: an exact size; or the length of the shorter edge, with the
// longer one in proportion but at most `longest_edge` if set; or the length of the longer edge.
struct ResizeRule {
  std::optional<Size> exact;
  int shortest_edge = 0;  // 0 if not set
  int longest_edge = 0;   // 0 if not set
  Filter filter = Filter::bilinear;
  bool operator==(const ResizeRule&) const = default;
};

// The origin of a centre crop if the margin is odd: `floor` as in Hugging Face, `round` (half to
// even) as in torchvision. They also place an image smaller than the crop differently.
enum class CropOrigin { floor, round };

struct CropRule {
  Size size;
  CropOrigin origin = CropOrigin::floor;
  bool operator==(const CropRule&) const = default;
};

enum class Layout { nchw, nhwc };

// The steps that turn an image into a model's input, in order of execution.
struct Preprocessing {
  std::optional<ResizeRule> resize;
  std::optional<CropRule> center_crop;  // an image smaller than the crop gets a black border
  double rescale_factor = 1.0 / 255;    // 1 keeps values in [0, 255]
  std::vector<double> mean;             // one per channel, or one for all; empty for 0
  std::vector<double> std;              // one per channel, or one for all; empty for 1
  bool reverse_channels = false;        // the model takes BGR
  bool pad = false;                     // add zeros at the right and bottom after normalising
  std::optional<Size> pad_to;           // nullopt to pad to the size of the model's input
  std::optional<Layout> layout;         // as declared; not applied, the model's input decides
  bool operator==(const Preprocessing&) const = default;
};

// A model's input seen as a batch of images.
struct ImageInput {
  std::string name;
  DType dtype = DType::f32;
  Layout layout = Layout::nchw;
  int channels = 3;          // 0 for those of the image
  std::int64_t batch = -1;   // -1 if dynamic
  std::int64_t height = -1;  // -1 if dynamic
  std::int64_t width = -1;   // -1 if dynamic
  bool operator==(const ImageInput&) const = default;
};

// Derives the layout from the spec: the axis of size 1 or 3 holds the channels. If axis 1 is
// dynamic and axis 3 is not 1 or 3, the layout is NCHW with 3 channels. An input of unknown rank
// takes NCHW with the image's own channels. Throws Error for other shapes.
ImageInput image_input(const TensorSpec& spec);

// The size of an image after resizing, by the arithmetic of Hugging Face's image processors and of
// torchvision's Resize, which agree.
Size resized_size(const ResizeRule& rule, Size image);

// The image as the model's input, with a batch of 1. Values are computed in Hugging Face's order:
// each 8-bit sample times rescale_factor in float64, rounded to float32, then minus mean and
// divided by std in float32. Float inputs of another precision are converted from float32; integer
// inputs take the 8-bit samples as they are. Throws Error if the result does not fit the input.
Tensor preprocess(Image image, const Preprocessing& preprocessing, const ImageInput& input);

// A label map resized, cropped and padded like its image, as int64 [height, width]. Resizes by
// nearest neighbour, so labels are never mixed; borders and padding are -1.
Tensor preprocess_label_map(const Image& map, const Preprocessing& preprocessing,
                            const ImageInput& input);

}  // namespace vernier
