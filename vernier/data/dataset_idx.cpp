#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "vernier/data/array_dataset.h"
#include "vernier/data/dataset_formats.h"
#include "vernier/data/idx.h"
#include "vernier/data/split.h"
#include "vernier/error.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;

bool is_images_name(const fs::path& path) {
  return is_idx_name(path) && path.filename().string().find("images") != std::string::npos;
}

// MNIST calls its test split t10k.
std::string split_of_idx(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.find("t10k") != std::string::npos ? "test" : split_of(path.filename());
}

fs::path find_images(const fs::path& folder, const std::string& split) {
  std::vector<fs::path> found;
  std::vector<std::string> splits;
  for (const auto& entry : fs::directory_iterator(folder))
    if (is_images_name(entry.path())) {
      splits.push_back(split_of_idx(entry.path()));
      if (split.empty() || splits.back() == split_name(split)) found.push_back(entry.path());
    }
  if (found.size() == 1) return found[0];
  std::ranges::sort(splits);
  throw Error(fmt::format("[dataset] {}: has images of the splits {}; choose one with --split",
                          folder.string(), fmt::join(splits, ", ")));
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  if (const auto at = text.find(from); at != text.npos) text.replace(at, from.size(), to);
  return text;
}

std::optional<Tensor> read_labels_of(const fs::path& images) {
  const std::string name =
      replaced(replaced(images.filename().string(), "images", "labels"), "idx3", "idx1");
  const fs::path labels = images.parent_path() / name;
  if (labels == images || !fs::exists(labels)) return std::nullopt;
  return read_idx(labels);
}

}  // namespace

bool is_idx_name(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.ends_with("-ubyte") || name.ends_with("-ubyte.gz") || name.ends_with(".idx") ||
         name.ends_with(".idx.gz");
}

std::unique_ptr<Dataset> open_idx(const fs::path& images, const DatasetOptions& options) {
  const fs::path file = fs::is_directory(images) ? find_images(images, options.split) : images;
  return make_array_dataset(read_idx(file), read_labels_of(file), file.filename().string());
}

}  // namespace vernier
