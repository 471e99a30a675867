#include "vernier/data/dataset.h"

#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <numeric>

#include "vernier/data/dataset_formats.h"
#include "vernier/data/hub_cache.h"
#include "vernier/data/numpy_random.h"
#include "vernier/error.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> matches(const std::string& pattern) {
  glob_t found{};
  std::vector<fs::path> paths;
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0)
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  return paths;
}

std::vector<fs::path> parquet_files(const fs::path& folder) {
  return files_below(folder, [](const fs::directory_entry& entry) {
    return entry.path().extension() == ".parquet" && entry.is_regular_file();
  });
}

std::unique_ptr<Dataset> open_folder(const fs::path& folder, const DatasetOptions& options) {
  if (is_arrow_folder(folder)) return open_arrow(folder, options);
  if (auto files = parquet_files(folder); !files.empty())
    return open_parquet(std::move(files), folder, options);
  for (const auto& entry : fs::directory_iterator(folder))
    if (is_idx_name(entry.path())) return open_idx(folder, options);
  return open_image_folder(folder, options);
}

std::unique_ptr<Dataset> open_file(const fs::path& file, const DatasetOptions& options) {
  if (file.extension() == ".parquet") return open_parquet({file}, file.parent_path(), options);
  if (file.extension() == ".arrow") return open_arrow(file, options);
  if (file.extension() == ".npz") return open_npz(file, options);
  if (is_idx_name(file)) return open_idx(file, options);
  throw Error(fmt::format(
      "[dataset] {}: expected a folder, .parquet, .arrow, .npz or IDX (...-ubyte, .gz) file",
      file.string()));
}

std::unique_ptr<Dataset> open_any(const std::string& name, const DatasetOptions& options) {
  if (fs::is_directory(name)) return open_folder(name, options);
  if (fs::exists(name)) return open_file(name, options);
  if (auto files = matches(name); !files.empty()) {
    const auto is_parquet = [](const fs::path& file) { return file.extension() == ".parquet"; };
    if (std::ranges::all_of(files, is_parquet)) return open_parquet(std::move(files), {}, options);
    throw Error(fmt::format("[dataset] {}: a pattern must match .parquet files alone", name));
  }
  if (is_hub_id(name)) return open_folder(find_hub_dataset(name), options);
  throw Error(
      fmt::format("[dataset] {}: no such file or folder, nor an id on the Hugging Face hub", name));
}

}  // namespace

std::unique_ptr<Dataset> open_dataset(const std::string& name, const DatasetOptions& options) {
  try {
    return open_any(name, options);
  } catch (const fs::filesystem_error& error) {
    throw Error(fmt::format("[dataset] {}: {}", name, error.code().message()));
  }
}

std::vector<std::int64_t> select_positions(std::int64_t size, const Selection& selection) {
  std::vector<std::int64_t> positions(size);
  std::iota(positions.begin(), positions.end(), 0);
  if (selection.shuffle) {
    const std::uint64_t entropy[] = {selection.seed};
    positions = NumpyRandom(entropy).permutation(size);
  }
  if (selection.samples > 0 && selection.samples < size) positions.resize(selection.samples);
  return positions;
}

}  // namespace vernier
