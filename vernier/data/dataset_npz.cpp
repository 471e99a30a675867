#include <fmt/format.h>
#include <fmt/ranges.h>

#include "vernier/data/array_dataset.h"
#include "vernier/data/dataset_formats.h"
#include "vernier/error.h"
#include "vernier/tensor/npz.h"

namespace vernier {
namespace {

// The array with one of these names or, if a split is given, with one joined with the split
// ("x_test", "test_images").
std::optional<std::string> find_array(const NpzReader& archive,
                                      std::initializer_list<const char*> names,
                                      const std::string& split) {
  for (const char* name : names) {
    if (split.empty() && archive.has(name)) return name;
    for (const std::string& joined :
         {fmt::format("{}_{}", name, split), fmt::format("{}_{}", split, name)})
      if (!split.empty() && archive.has(joined)) return joined;
  }
  return std::nullopt;
}

[[noreturn]] void fail(const std::filesystem::path& path, const NpzReader& archive,
                       const std::string& reason) {
  throw Error(fmt::format("[dataset] {}: {}; it has {}", path.string(), reason,
                          fmt::join(archive.names(), ", ")));
}

std::string inputs_name(const std::filesystem::path& path, const NpzReader& archive,
                        const DatasetOptions& options) {
  if (!options.image_column.empty()) {
    if (archive.has(options.image_column)) return options.image_column;
    fail(path, archive, fmt::format("no array '{}'", options.image_column));
  }
  const auto found =
      find_array(archive, {"input", "inputs", "image", "images", "x"}, options.split);
  if (found) return *found;
  const std::string split =
      options.split.empty() ? "" : fmt::format(" of the split '{}'", options.split);
  fail(path, archive,
       fmt::format("no array of inputs{} (input, image, images or x); name it with --column image=",
                   split));
}

std::optional<std::string> labels_name(const std::filesystem::path& path, const NpzReader& archive,
                                       const DatasetOptions& options) {
  if (options.label_column.empty())
    return find_array(archive, {"label", "labels", "y"}, options.split);
  if (!archive.has(options.label_column))
    fail(path, archive, fmt::format("no array '{}'", options.label_column));
  return options.label_column;
}

}  // namespace

std::unique_ptr<Dataset> open_npz(const std::filesystem::path& path,
                                  const DatasetOptions& options) {
  const NpzReader archive(path);
  const std::string inputs = inputs_name(path, archive, options);
  const std::optional<std::string> labels = labels_name(path, archive, options);
  return make_array_dataset(archive.read(inputs),
                            labels ? std::optional(archive.read(*labels)) : std::nullopt,
                            path.filename().string());
}

}  // namespace vernier
