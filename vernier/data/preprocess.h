#pragma once

#include <optional>
#include <vector>

#include "vernier/data/image.h"
#include "vernier/data/resize.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

// What an image is resized to. One of: an exact size; the length of the shorter edge, the longer
// one following in proportion but at most `longest_edge` if that is set; the length of the longer
// edge alone.
struct ResizeRule {
  std::optional<Size> exact;
  int shortest_edge = 0;  // 0: not set
  int longest_edge = 0;
  Filter filter = Filter::bilinear;
  bool operator==(const ResizeRule&) const = default;
};

// Where a crop begins when the margin is odd. `floor` is Hugging Face's, `round` (half to even) is
// torchvision's; they also differ in where an image smaller than the crop is put.
enum class CropOrigin { floor, round };

struct CropRule {
  Size size;
  CropOrigin origin = CropOrigin::floor;
  bool operator==(const CropRule&) const = default;
};

enum class Layout { nchw, nhwc };

// How a model wants its images, in the order in which it is done.
struct Preprocessing {
  std::optional<ResizeRule> resize;
  std::optional<CropRule> center_crop;  // an image smaller than the crop gets a black border
  double rescale_factor = 1.0 / 255;    // 1: values stay in [0, 255]
  std::vector<double> mean;             // one for each channel, or one for all; empty: 0
  std::vector<double> std;              // likewise; empty: 1
  bool reverse_channels = false;        // the model takes BGR
  bool pad = false;                     // zeros at the right and bottom, after normalising...
  std::optional<Size> pad_to;           // ...up to this size, or to that of the model's input
  std::optional<Layout> layout;         // as declared; images are laid out as the model's input is
  bool operator==(const Preprocessing&) const = default;
};

// A model's input seen as a batch of images.
struct ImageInput {
  std::string name;
  DType dtype = DType::f32;
  Layout layout = Layout::nchw;
  int channels = 3;         // 0: those of the image
  std::int64_t batch = -1;  // -1: any
  std::int64_t height = -1;
  std::int64_t width = -1;
  bool operator==(const ImageInput&) const = default;
};

// Reads the layout off the spec: the axis of 1 or 3 is that of the channels. Channels that are
// dynamic are taken to be 3, in front; an input of unknown rank takes images as they are, channels
// in front. Throws Error for what is not a batch of images.
ImageInput image_input(const TensorSpec& spec);

// The size to which a rule takes an image; the arithmetic of Hugging Face's image processors and of
// torchvision's Resize, which agree.
Size resized_size(const ResizeRule& rule, Size image);

// The image as the model takes it, with a batch of 1. Values are float32: each 8-bit sample times
// rescale_factor in float64, rounded, then minus mean, over std, each rounded: Hugging Face's
// order. Float inputs of another precision are converted from that; integer inputs take the 8-bit
// samples as they are. Throws Error when the result does not fit the input.
Tensor preprocess(Image image, const Preprocessing& preprocessing, const ImageInput& input);

// A map of labels as its image was resized, cropped and padded, [height, width] of int64: labels
// are moved, never mixed, and -1 where there was no image.
Tensor preprocess_label_map(const Image& map, const Preprocessing& preprocessing,
                            const ImageInput& input);

}  // namespace vernier
