#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "vernier/data/dataset_formats.h"
#include "vernier/data/read_file.h"
#include "vernier/data/split.h"
#include "vernier/error.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;

struct LabelledFile {
  fs::path path;  // relative to the folder
  std::optional<std::int64_t> label;
  fs::path map;  // of labels; empty: none
};

class ImageFolder : public Dataset {
 public:
  ImageFolder(fs::path root, std::vector<std::string> classes, std::vector<LabelledFile> files)
      : root_(std::move(root)), classes_(std::move(classes)), files_(std::move(files)) {}

  std::int64_t size() const override { return static_cast<std::int64_t>(files_.size()); }
  const std::vector<std::string>& classes() const override { return classes_; }
  std::vector<Example> read(std::span<const std::int64_t> positions) override {
    std::vector<Example> examples;
    for (const std::int64_t position : positions) examples.push_back(example(files_[position]));
    return examples;
  }

 private:
  Example example(const LabelledFile& file) const {
    Example result{.id = file.path.string(), .label = file.label};
    try {
      result.content = read_file(root_ / file.path, "dataset");
      if (!file.map.empty()) result.target = read_file(root_ / file.map, "dataset");
    } catch (const Error& error) {
      result.content = Unreadable{error.what()};
    }
    return result;
  }

  fs::path root_;
  std::vector<std::string> classes_;
  std::vector<LabelledFile> files_;
};

std::vector<std::string> subfolders(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_directory() && !entry.path().filename().string().starts_with('.'))
      names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

std::vector<fs::path> image_files(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (is_image_name(entry.path()) && !entry.is_directory()) files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

// The maps of labels/ by the path of their image in images/, both without an ending.
std::map<std::string, fs::path> maps_by_image(const fs::path& root) {
  std::map<std::string, fs::path> maps;
  for (const fs::path& path : image_files(root / "labels"))
    maps[path.lexically_relative(root / "labels").replace_extension().string()] =
        path.lexically_relative(root);
  return maps;
}

std::vector<LabelledFile> files_with_maps(const fs::path& root) {
  const auto maps = maps_by_image(root);
  std::vector<LabelledFile> files;
  for (const fs::path& path : image_files(root / "images")) {
    const auto map =
        maps.find(path.lexically_relative(root / "images").replace_extension().string());
    files.push_back({path.lexically_relative(root), std::nullopt,
                     map == maps.end() ? fs::path() : map->second});
  }
  return files;
}

// The folder of the split, or the folder itself when no split was asked for and it has none.
fs::path split_folder(const fs::path& folder, const std::string& split) {
  const std::vector<std::string> names = subfolders(folder);
  const auto is_split = [](const std::string& name) { return !split_of(name).empty(); };
  if (split.empty()) {
    if (names.empty() || !std::ranges::all_of(names, is_split)) return folder;
    throw Error(fmt::format("[dataset] {}: has the splits {}; choose one with --split",
                            folder.string(), fmt::join(names, ", ")));
  }
  for (const std::string& name : names)
    if (name == split || split_name(name) == split_name(split)) return folder / name;
  throw Error(fmt::format("[dataset] {}: has no folder for the split '{}'; there is {}",
                          folder.string(), split, fmt::join(names, ", ")));
}

}  // namespace

bool is_image_name(const fs::path& path) {
  constexpr std::string_view known[] = {".jpg", ".jpeg", ".png", ".webp", ".bmp",
                                        ".ppm", ".pgm",  ".pbm", ".pnm"};
  std::string extension = path.extension().string();
  std::ranges::transform(extension, extension.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::ranges::find(known, extension) != std::end(known);
}

std::unique_ptr<Dataset> open_image_folder(const fs::path& folder, const DatasetOptions& options) {
  const fs::path root = split_folder(folder, options.split);
  std::vector<std::string> classes = subfolders(root);
  std::vector<LabelledFile> files;
  if (classes == std::vector<std::string>{"images", "labels"}) {
    classes = {};
    files = files_with_maps(root);
  }
  for (std::size_t label = 0; label < classes.size(); ++label)
    for (const fs::path& path : image_files(root / classes[label]))
      files.push_back({path.lexically_relative(root), static_cast<std::int64_t>(label)});
  if (files.empty() && classes.empty())
    for (const fs::path& path : image_files(root))
      files.push_back({path.lexically_relative(root), std::nullopt});
  if (files.empty())
    throw Error(
        fmt::format("[dataset] {}: no images; expected a subfolder of images for each class, "
                    "or Parquet, IDX or image files",
                    root.string()));
  return std::make_unique<ImageFolder>(root, std::move(classes), std::move(files));
}

}  // namespace vernier
