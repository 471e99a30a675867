#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "vernier/data/array_dataset.h"
#include "vernier/data/arrow_file.h"
#include "vernier/data/dataset_columns.h"
#include "vernier/data/dataset_formats.h"
#include "vernier/data/read_file.h"
#include "vernier/data/split.h"
#include "vernier/error.h"
#include "vernier/json.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using Holds = DatasetColumn::Holds;
using Kind = ArrowField::Kind;

bool is_image(const ArrowField& field) {
  const auto is_bytes = [](const ArrowField& part) {
    return part.name == "bytes" && part.kind == Kind::bytes;
  };
  return field.kind == Kind::bytes ||
         (field.kind == Kind::structure && std::ranges::any_of(field.children, is_bytes));
}

// Lists of numbers, or lists of such lists.
bool is_array(const ArrowField& field) {
  if (field.kind != Kind::list) return false;
  const ArrowField& element = field.children[0];
  return element.kind == Kind::number || is_array(element);
}

Holds what_holds(const ArrowField& field) {
  if (is_image(field)) return Holds::images;
  if (is_array(field)) return Holds::arrays;
  if (field.kind == Kind::text) return Holds::text;
  return field.kind == Kind::number && is_integer(field.dtype) ? Holds::integers : Holds::other;
}

std::string type_text(const ArrowField& field) {
  switch (field.kind) {
    case Kind::number: return std::string(dtype_name(field.dtype));
    case Kind::bytes: return "binary";
    case Kind::text: return "string";
    case Kind::list: return fmt::format("list<{}>", type_text(field.children[0]));
    case Kind::structure: return "struct";
    case Kind::other: break;
  }
  return "(not read)";
}

std::optional<std::string_view> text_at(const ArrowArray* array, std::int64_t row) {
  const auto bytes = array ? array->bytes(row) : std::nullopt;
  return bytes ? std::optional(as_text(*bytes)) : std::nullopt;
}

// Appends the elements [begin, end) of an array of numbers or lists to the tensor. Its shape gets
// the lengths of the lists; throws Error if lists of one depth differ in length.
void append(const ArrowArray& array, std::int64_t begin, std::int64_t end, std::size_t depth,
            Tensor& tensor) {
  if (depth == tensor.shape.size()) tensor.shape.push_back(end - begin);
  if (tensor.shape[depth] != end - begin)
    throw Error(
        fmt::format("[dataset] '{}': its lists have {} and {} elements, expected equal ones",
                    tensor.name, tensor.shape[depth], end - begin));
  for (std::int64_t i = begin; i < end; ++i) {
    if (!array.has(i)) throw Error(fmt::format("[dataset] '{}': a value is null", tensor.name));
    if (array.field->kind == Kind::list) {
      const auto [first, last] = array.range(i);
      append(array.children[0], first, last, depth + 1, tensor);
      continue;
    }
    const auto bytes = *array.bytes(i);
    tensor.dtype = array.field->dtype;
    tensor.bytes.insert(tensor.bytes.end(), bytes.begin(), bytes.end());
  }
}

std::optional<Tensor> tensor_at(const ArrowArray& array, std::int64_t row) {
  if (!array.has(row)) return std::nullopt;
  Tensor tensor{.name = array.field->name};
  const auto [begin, end] = array.range(row);
  append(array.children[0], begin, end, 0, tensor);
  return tensor;
}

struct ArrowPart {
  std::string id;
  fs::path folder;
  std::unique_ptr<ArrowFile> arrow;
  std::int64_t first = 0;  // position of its first row in the dataset
};

class ArrowDataset : public Dataset {
 public:
  ArrowDataset(const fs::path& root, const std::vector<fs::path>& paths,
               const DatasetOptions& options) {
    for (const fs::path& path : paths) {
      files_.push_back({path.lexically_relative(root).string(), path.parent_path(),
                        std::make_unique<ArrowFile>(path), size_});
      size_ += files_.back().arrow->rows();
    }
    if (size_ == 0) throw Error(fmt::format("[arrow] {}: no rows", paths[0].string()));
    choose_columns(options);
  }

  std::int64_t size() const override { return size_; }
  const std::vector<std::string>& classes() const override { return classes_; }
  std::vector<Example> read(std::span<const std::int64_t> positions) override {
    std::vector<Example> examples;
    for (const std::int64_t position : positions) {
      const auto after = std::ranges::upper_bound(files_, position, {}, &ArrowPart::first);
      examples.push_back(example(*std::prev(after), position));
    }
    return examples;
  }

 private:
  void choose_columns(const DatasetOptions& options) {
    const ArrowFile& arrow = *files_[0].arrow;
    std::vector<DatasetColumn> all;
    for (const ArrowField& field : arrow.fields())
      all.push_back({field.name, what_holds(field), type_text(field)});
    const auto metadata = arrow.metadata().find("huggingface");
    const DatasetColumns columns(
        "[arrow] " + files_[0].id, all,
        metadata == arrow.metadata().end() ? std::string_view() : metadata->second);
    inputs_ = columns.inputs(options.image_column);
    if (const DatasetColumn* column = columns.labels(options.label_column)) {
      labels_ = *column;
      classes_ = columns.classes(column->name);
    }
    for (const ArrowPart& file : files_)
      for (const DatasetColumn& column : {inputs_, labels_})
        if (!column.name.empty()) require_column(file, column);
    if (labels_.holds == Holds::text) name_classes();
  }

  // Every file must have the columns of the first.
  static void require_column(const ArrowPart& file, const DatasetColumn& column) {
    for (const ArrowField& field : file.arrow->fields())
      if (field.name == column.name && what_holds(field) == column.holds) return;
    throw Error(fmt::format("[arrow] {}: has no column '{}' of {}, which the first file has",
                            file.id, column.name, column.type));
  }

  // Uses the distinct texts of the labels, sorted, as classes.
  void name_classes() {
    std::set<std::string, std::less<>> names;
    for (const ArrowPart& file : files_)
      for (std::int64_t row = 0; row < file.arrow->rows(); ++row) {
        const ArrowFile::Place place = file.arrow->find(row);
        if (const auto name = text_at(&column_of(place, labels_), place.row)) names.emplace(*name);
      }
    classes_.assign(names.begin(), names.end());
  }

  static const ArrowArray& column_of(const ArrowFile::Place& place, const DatasetColumn& column) {
    return *std::ranges::find_if(
        place.columns, [&](const ArrowArray& array) { return array.field->name == column.name; });
  }

  Example example(const ArrowPart& file, std::int64_t position) const {
    const std::int64_t row = position - file.first;
    Example result{.id = fmt::format("{} row {}", file.id, row)};
    try {
      const ArrowFile::Place place = file.arrow->find(row);
      set_content(result, column_of(place, inputs_), place.row, file.folder);
      if (!labels_.name.empty()) set_label(result, column_of(place, labels_), place.row);
    } catch (const Error& error) {
      result.content = Unreadable{fmt::format("{}: {}", result.id, error.what())};
    }
    return result;
  }

  void set_content(Example& result, const ArrowArray& array, std::int64_t row,
                   const fs::path& folder) const {
    if (inputs_.holds == Holds::arrays) {
      auto tensor = tensor_at(array, row);
      if (tensor)
        result.content = image_or_tensor(std::move(*tensor));
      else
        result.content = Unreadable{result.id + ": has no input"};
      return;
    }
    std::optional<std::string_view> bytes, path;
    if (array.field->kind != Kind::structure) {
      (inputs_.holds == Holds::text ? path : bytes) = text_at(&array, row);
    } else if (array.has(row)) {
      bytes = text_at(array.child("bytes"), row);
      path = text_at(array.child("path"), row);
    }
    result.content = image_of_row(bytes, path, folder, result.id);
  }

  void set_label(Example& result, const ArrowArray& array, std::int64_t row) const {
    if (!array.has(row)) return;
    if (labels_.holds == Holds::integers) {
      result.label = array.integer(row);
    } else if (labels_.holds == Holds::text) {
      result.label = std::ranges::lower_bound(classes_, *text_at(&array, row)) - classes_.begin();
    } else if (labels_.holds == Holds::arrays) {
      result.target = *tensor_at(array, row);
    } else if (const auto bytes = text_at(
                   array.field->kind == Kind::structure ? array.child("bytes") : &array, row)) {
      result.target = encoded_image(*bytes);
    }
  }

  std::vector<ArrowPart> files_;
  std::vector<std::string> classes_;
  DatasetColumn inputs_, labels_;  // labels_.name is empty if there are no labels
  std::int64_t size_ = 0;
};

Json read_json(const fs::path& path) {
  return try_parse_json<Json>(as_text(read_file(path, "dataset")));
}

// The folder of one split of a saved DatasetDict.
fs::path saved_split(const fs::path& folder, const std::string& split) {
  std::vector<std::string> splits;
  const Json json = read_json(folder / "dataset_dict.json");
  for (const Json& name : json.is_object() ? json.value("splits", Json::array()) : Json::array())
    if (name.is_string()) splits.push_back(name.get<std::string>());
  if (split.empty() && splits.size() == 1) return folder / splits[0];
  for (const std::string& name : splits)
    if (!split.empty() && split_name(name) == split_name(split)) return folder / name;
  if (split.empty())
    throw Error(fmt::format("[dataset] {}: has the splits {}; choose one with --split",
                            folder.string(), fmt::join(splits, ", ")));
  throw Error(fmt::format("[dataset] {}: has no split '{}'; there is {}", folder.string(), split,
                          fmt::join(splits, ", ")));
}

// The files that state.json lists, in its order. Other .arrow files in the folder are caches.
std::vector<fs::path> saved_files(const fs::path& folder) {
  const Json state = read_json(folder / "state.json");
  if (!state.is_object() || !state.contains("_data_files") || !state["_data_files"].is_array())
    throw Error(fmt::format("[dataset] {}: names no _data_files; save the dataset anew",
                            (folder / "state.json").string()));
  for (const char* key : {"_indices_files", "_indices_data_files"})
    if (state.contains(key) && state[key].is_array() && !state[key].empty())
      throw Error(
          fmt::format("[dataset] {}: its rows are chosen by an indices file; save it after "
                      "flatten_indices()",
                      folder.string()));
  std::vector<fs::path> files;
  for (const Json& file : state["_data_files"])
    if (file.is_object() && file.contains("filename") && file["filename"].is_string())
      files.push_back(folder / fs::path(file["filename"].get<std::string>()).filename());
  return files;
}

bool is_arrow_file(const fs::path& path) {
  return path.extension() == ".arrow" && !is_ignored(path);
}

std::vector<fs::path> arrow_files(const fs::path& folder) {
  if (fs::exists(folder / "state.json")) return saved_files(folder);
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (is_arrow_file(entry.path())) files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

}  // namespace

bool is_arrow_folder(const fs::path& folder) {
  return fs::exists(folder / "dataset_dict.json") ||
         std::ranges::any_of(fs::directory_iterator(folder), [](const fs::directory_entry& entry) {
           return is_arrow_file(entry.path());
         });
}

std::unique_ptr<Dataset> open_arrow(const fs::path& path, const DatasetOptions& options) {
  if (!fs::is_directory(path))
    return std::make_unique<ArrowDataset>(path.parent_path(), std::vector{path}, options);
  if (fs::exists(path / "dataset_dict.json"))
    return open_arrow(saved_split(path, options.split), options);
  const std::vector<fs::path> all = arrow_files(path);
  if (all.empty()) throw Error(fmt::format("[dataset] {}: holds no .arrow files", path.string()));
  return std::make_unique<ArrowDataset>(path, all, options);
}

}  // namespace vernier
