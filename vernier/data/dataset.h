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
  std::optional<std::int64_t> label;  // an index into classes(), if the dataset names them
  std::variant<Unreadable, EncodedImage, Image, Tensor> content;
  // The expected output, if the dataset has one instead of a label: a label map or token ids.
  std::variant<std::monostate, EncodedImage, Tensor> target = {};
};

// Examples on disk. Not thread-safe.
class Dataset {
 public:
  virtual ~Dataset() = default;

  virtual std::int64_t size() const = 0;
  // The names of the labels, in order; empty if the dataset does not name them.
  virtual const std::vector<std::string>& classes() const = 0;
  // The examples at these distinct positions, in this order. A problem with one example is reported
  // as Unreadable; throws Error if the dataset itself cannot be read.
  virtual std::vector<Example> read(std::span<const std::int64_t> positions) = 0;
  // The number of positions to pass to one read() for best performance.
  virtual std::int64_t window() const { return 1; }
};

struct DatasetOptions {
  std::string split;         // "" if there is only one
  std::string image_column;  // a table's column, or an array of an .npz; "" to detect it
  std::string label_column;
};

// Opens the dataset that `name` refers to:
// - a folder with one subfolder of images per class, with images and a metadata.csv or labels.csv,
//   with images without labels, or with images/ and labels/, label maps named like the images;
// - a Parquet file, a folder of them, or a pattern such as "data/test-*.parquet", in Hugging Face's
//   layout;
// - a folder that Hugging Face's save_to_disk() wrote, or an .arrow file;
// - IDX files (MNIST), gzipped or not: the file of images, or its folder;
// - an .npz of images (uint8) or of ready inputs, optionally with labels;
// - the id of a dataset in the local Hugging Face cache ("timm/mini-imagenet"); never downloads.
// Throws Error for anything else, for a missing split, and if one of several splits must be chosen.
std::unique_ptr<Dataset> open_dataset(const std::string& name, const DatasetOptions& options = {});

// Which examples of a dataset are used, and in what order.
struct Selection {
  std::int64_t samples = 0;  // use only this many, from the first on; 0 for all
  bool shuffle = false;      // in the order of numpy's default_rng(seed).permutation(size)
  std::uint64_t seed = 42;
  bool operator==(const Selection&) const = default;
};

// The selected positions in a dataset of `size` examples; all of them if more are requested.
std::vector<std::int64_t> select_positions(std::int64_t size, const Selection& selection);

}  // namespace vernier
