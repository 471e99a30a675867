#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "vernier/data/image.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

using EncodedImage = std::vector<std::byte>;
struct Unreadable {
  std::string reason;
};

// One example as a dataset stores it. A Tensor is a ready input, without a batch axis.
struct Example {
  std::string id;                     // a path, or a file and a row
  std::optional<std::int64_t> label;  // counts classes() from 0, if they are named
  std::variant<Unreadable, EncodedImage, Image, Tensor> content;
  // What a whole output should be, where the dataset has that instead of a label: a map of labels,
  // or token ids.
  std::variant<std::monostate, EncodedImage, Tensor> target = {};
};

// Examples on disk. One thread at a time.
class Dataset {
 public:
  virtual ~Dataset() = default;

  virtual std::int64_t size() const = 0;
  // The names of the labels, in order; empty when the dataset does not name them.
  virtual const std::vector<std::string>& classes() const = 0;
  // The examples at these positions, which are distinct, in this order. What is wrong with one
  // example is told in it; throws Error when the dataset itself cannot be read.
  virtual std::vector<Example> read(std::span<const std::int64_t> positions) = 0;
  // How many positions are best read together.
  virtual std::int64_t window() const { return 1; }
};

struct DatasetOptions {
  std::string split;         // "" for the only one
  std::string image_column;  // of Parquet files, or the name of an .npz array; "" to find it
  std::string label_column;
};

// Opens what `name` stands for:
// - a folder with one subfolder of images for each class, or of images without labels, or with
//   images/ and labels/ of maps that have the images' names;
// - a Parquet file, a folder of them, or a pattern such as "data/test-*.parquet", in Hugging Face's
//   layout;
// - a folder that Hugging Face's save_to_disk() wrote, or an .arrow file;
// - IDX files (MNIST), gzipped or not: the images, or the folder that they are in;
// - an .npz of images (uint8) or of ready inputs, with labels if there are any;
// - the id of a dataset in the local Hugging Face cache ("timm/mini-imagenet"); never downloads.
// Throws Error for anything else, for a split that is not there, or when one has to be chosen.
std::unique_ptr<Dataset> open_dataset(const std::string& name, const DatasetOptions& options = {});

// Which examples of a dataset are used, and in what order.
struct Selection {
  std::int64_t samples = 0;  // the first so many; 0: all
  bool shuffle = false;      // in the order of numpy's default_rng(seed).permutation(size)
  std::uint64_t seed = 42;
  bool operator==(const Selection&) const = default;
};

// Positions in a dataset of `size` examples; all of them when more are asked for.
std::vector<std::int64_t> select_positions(std::int64_t size, const Selection& selection);

}  // namespace vernier
