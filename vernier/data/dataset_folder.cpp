#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "vernier/data/dataset_formats.h"
#include "vernier/data/read_file.h"
#include "vernier/data/split.h"
#include "vernier/error.h"
#include "vernier/tensor/sample_archive.h"
#include "vernier/utf8.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;

struct LabelledFile {
  fs::path path;  // relative to the folder
  std::optional<std::int64_t> label;
  fs::path map;  // label map; empty if there is none
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

// Sorted by name, or numerically (2 before 10) if all names are numbers.
std::vector<std::string> subfolders(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_directory() && !is_ignored(entry.path()))
      names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  const auto is_number = [](const std::string& name) {
    return name.find_first_not_of("0123456789") == name.npos;
  };
  if (std::ranges::all_of(names, is_number)) std::ranges::sort(names, natural_less);
  return names;
}

bool is_image_name(const fs::path& path) {
  constexpr std::string_view known[] = {".jpg", ".jpeg", ".png", ".webp", ".bmp",
                                        ".ppm", ".pgm",  ".pbm", ".pnm"};
  return std::ranges::find(known, lower_case(path.extension())) != std::end(known);
}

std::vector<fs::path> image_files(const fs::path& folder) {
  return files_below(folder, [](const fs::directory_entry& entry) {
    return is_image_name(entry.path()) && !entry.is_directory();
  });
}

// The label maps in labels/, keyed by their path in labels/ without extension.
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

// The fields of one line of a CSV file. A quoted field may contain commas and doubled quotes.
std::vector<std::string> csv_fields(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (quoted && line[i] == '"' && i + 1 < line.size() && line[i + 1] == '"')
      fields.back() += line[++i];
    else if (line[i] == '"')
      quoted = !quoted;
    else if (line[i] == ',' && !quoted)
      fields.emplace_back();
    else
      fields.back() += line[i];
  }
  return fields;
}

// The index of the first of the names that is in the header.
std::optional<std::size_t> find_column(const std::vector<std::string>& header,
                                       const std::vector<std::string>& names) {
  for (const std::string& name : names)
    if (const auto found = std::ranges::find(header, name); found != header.end())
      return found - header.begin();
  return std::nullopt;
}

// The labels in metadata.csv or labels.csv next to the images, by the path of the image; nullopt if
// there is no such table, or if it has no columns of files and labels.
std::optional<std::map<std::string, std::string>> read_label_table(const fs::path& root,
                                                                   const DatasetOptions& options) {
  for (const char* name : {"metadata.csv", "labels.csv"}) {
    if (!fs::exists(root / name)) continue;
    const std::vector<std::string> lines = read_lines(root / name);
    if (lines.empty()) continue;
    const std::vector<std::string> header = csv_fields(lines[0]);
    const auto or_usual = [](const std::string& given, const std::vector<std::string>& usual) {
      return given.empty() ? usual : std::vector{given};
    };
    const auto file = find_column(
        header, or_usual(options.image_column, {"file_name", "filename", "file", "image", "path"}));
    const auto label =
        find_column(header, or_usual(options.label_column, {"label", "class", "target"}));
    if (!file || !label) continue;
    std::map<std::string, std::string> labels;
    for (std::size_t i = 1; i < lines.size(); ++i)
      if (const auto fields = csv_fields(lines[i]); fields.size() > std::max(*file, *label))
        labels[fs::path(fields[*file]).lexically_normal().string()] = fields[*label];
    return labels;
  }
  return std::nullopt;
}

// A dataset of images labelled by a table. If all labels are numbers, they are used as they are;
// else the sorted names are the classes.
std::unique_ptr<Dataset> open_labelled_files(const fs::path& root,
                                             const std::map<std::string, std::string>& labels) {
  std::set<std::string> names;
  for (const auto& [file, label] : labels)
    if (!label.empty()) names.insert(label);
  const bool numbers = std::ranges::all_of(names, [](const std::string& name) {
    return name.size() < 10 && name.find_first_not_of("0123456789") == name.npos;
  });
  std::vector<std::string> classes;
  if (!numbers) classes.assign(names.begin(), names.end());
  std::vector<LabelledFile> files;
  for (const fs::path& path : image_files(root)) {
    const auto found = labels.find(path.lexically_relative(root).string());
    std::optional<std::int64_t> label;
    if (found != labels.end() && !found->second.empty())
      label = numbers ? std::stoll(found->second)
                      : std::distance(names.begin(), names.find(found->second));
    files.push_back({path.lexically_relative(root), label});
  }
  return std::make_unique<ImageFolder>(root, std::move(classes), std::move(files));
}

// The folder of the split, or the folder itself if no split was requested and it has none.
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

bool is_ignored(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.starts_with('.') || name == "__MACOSX";
}

std::vector<fs::path> files_below(const fs::path& folder,
                                  bool (*is_wanted)(const fs::directory_entry& entry)) {
  std::vector<fs::path> files;
  for (auto entry = fs::recursive_directory_iterator(folder);
       entry != fs::recursive_directory_iterator(); ++entry) {
    if (is_ignored(entry->path()))
      entry.disable_recursion_pending();
    else if (is_wanted(*entry))
      files.push_back(entry->path());
  }
  std::ranges::sort(files);
  return files;
}

std::unique_ptr<Dataset> open_image_folder(const fs::path& folder, const DatasetOptions& options) {
  const fs::path root = split_folder(folder, options.split);
  if (const auto labels = read_label_table(root, options))
    return open_labelled_files(root, *labels);
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
