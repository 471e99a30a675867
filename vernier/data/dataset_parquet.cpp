#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "vernier/data/dataset_formats.h"
#include "vernier/data/duckdb_query.h"
#include "vernier/data/read_file.h"
#include "vernier/data/split.h"
#include "vernier/error.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// Encoded images that are held at a time.
constexpr std::int64_t window_bytes = std::int64_t{64} << 20;

struct File {
  fs::path path;
  std::string id;
  std::int64_t first = 0;  // position of its first row in the dataset
  std::int64_t rows = 0;
};

struct Column {
  std::string name;
  std::string type;  // as DuckDB writes it
};

// What Hugging Face's metadata says of a column.
struct Feature {
  std::string type;  // "Image", "ClassLabel"...
  std::vector<std::string> classes;
};

// DuckDB takes a path for a pattern: brackets make its signs stand for themselves. An absolute path
// cannot be taken for an address.
std::string literal_path(const fs::path& path) {
  std::string literal;
  for (const char c : fs::absolute(path).string())
    literal += c == '*' || c == '?' || c == '[' ? std::string{'[', c, ']'} : std::string(1, c);
  return literal;
}

std::vector<Column> columns_of(const DuckDb& duckdb, const File& file) {
  std::vector<Column> columns;
  const std::string parameters[] = {literal_path(file.path)};
  duckdb.query(
      "SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM read_parquet(?, "
      "hive_partitioning = false))",
      parameters, file.id, [&](const DuckDbRow& row) {
        columns.push_back({std::string(*row.bytes(0)), std::string(*row.bytes(1))});
      });
  return columns;
}

std::int64_t row_count(const DuckDb& duckdb, const File& file) {
  std::int64_t rows = 0;
  const std::string parameters[] = {literal_path(file.path)};
  duckdb.query("SELECT CAST(num_rows AS BIGINT) FROM parquet_file_metadata(?)", parameters, file.id,
               [&](const DuckDbRow& row) { rows = row.integer(0).value_or(0); });
  return rows;
}

std::map<std::string, Feature> features_in(const Json& metadata) {
  std::map<std::string, Feature> features;
  const Json* described = &metadata;
  for (const char* key : {"info", "features"}) {
    if (!described->is_object() || !described->contains(key)) return {};
    described = &(*described)[key];
  }
  if (!described->is_object()) return {};
  for (const auto& [name, value] : described->items()) {
    if (!value.is_object()) continue;
    Feature& feature = features[name];
    feature.type = value.value("_type", "");
    for (const Json& label : value.value("names", Json::array()))
      feature.classes.push_back(label.is_string() ? label.get<std::string>() : label.dump());
  }
  return features;
}

// The `huggingface` entry of the file's metadata. Metadata that cannot be read says nothing.
std::map<std::string, Feature> features_of(const DuckDb& duckdb, const File& file) {
  std::map<std::string, Feature> features;
  const std::string parameters[] = {literal_path(file.path)};
  duckdb.query("SELECT value FROM parquet_kv_metadata(?) WHERE key = 'huggingface'::BLOB",
               parameters, file.id, [&](const DuckDbRow& row) {
                 const Json metadata = Json::parse(row.bytes(0).value_or(""), nullptr, false);
                 try {
                   features = features_in(metadata);
                 } catch (const Json::exception&) {
                   features.clear();
                 }
               });
  return features;
}

bool holds_images(const std::string& type) {
  return type == "BLOB" || (type.starts_with("STRUCT(") && type.find("bytes BLOB") != type.npos);
}

bool holds_text(const std::string& type) { return type == "VARCHAR"; }

bool holds_labels(const std::string& type) {
  constexpr std::string_view integers[] = {"TINYINT",  "SMALLINT",  "INTEGER",  "BIGINT",
                                           "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"};
  return std::ranges::find(integers, type) != std::end(integers);
}

// The layout of the files, as the first one has it.
class Schema {
 public:
  Schema(const DuckDb& duckdb, const File& file)
      : subject_(file.id),
        columns_(columns_of(duckdb, file)),
        features_(features_of(duckdb, file)) {}

  Column image_column(const std::string& wanted) const {
    auto found = find(wanted, "Image", {"image", "img"}, holds_images);
    if (!found) found = find(wanted, "Image", {"image", "img", "path", "file_name"}, holds_text);
    if (!found)
      fail(wanted.empty() ? "no column of images" : "no such column of images: " + wanted);
    return *found;
  }
  std::optional<Column> label_column(const std::string& wanted) const {
    auto found = find(wanted, "ClassLabel", {"label", "labels"}, holds_labels);
    if (!found) found = map_column(wanted);
    if (!found) found = find(wanted, "ClassLabel", {"label", "labels", "class"}, holds_text);
    if (!found && !wanted.empty()) fail("no such column of labels or maps of them: " + wanted);
    return found;
  }
  std::vector<std::string> classes(const std::string& column) const {
    const auto found = features_.find(column);
    return found == features_.end() ? std::vector<std::string>() : found->second.classes;
  }

 private:
  using TypeTest = bool (*)(const std::string&);

  // The column of that name; else the first that the metadata calls `feature`; else the first of
  // the usual names.
  std::optional<Column> find(const std::string& wanted, const std::string& feature,
                             std::initializer_list<const char*> usual, TypeTest fits) const {
    if (!wanted.empty()) return named(wanted, fits);
    for (const Column& column : columns_) {
      const auto described = features_.find(column.name);
      if (described != features_.end() && described->second.type == feature && fits(column.type))
        return column;
    }
    for (const char* name : usual)
      if (auto column = named(name, fits)) return column;
    return std::nullopt;
  }
  // A column of images whose pixels are labels.
  std::optional<Column> map_column(const std::string& wanted) const {
    if (!wanted.empty()) return named(wanted, holds_images);
    for (const char* name : {"label", "labels", "annotation", "mask"})
      if (auto column = named(name, holds_images)) return column;
    return std::nullopt;
  }
  std::optional<Column> named(const std::string& name, TypeTest fits) const {
    for (const Column& column : columns_)
      if (column.name == name && fits(column.type)) return column;
    return std::nullopt;
  }
  [[noreturn]] void fail(const std::string& reason) const {
    std::vector<std::string> all;
    for (const Column& column : columns_) all.push_back(column.name + " " + column.type);
    throw Error(fmt::format("[parquet] {}: {}; it has {}", subject_, reason, fmt::join(all, ", ")));
  }

  std::string subject_;
  std::vector<Column> columns_;
  std::map<std::string, Feature> features_;
};

class ParquetDataset : public Dataset {
 public:
  ParquetDataset(std::vector<File> files, const DatasetOptions& options)
      : files_(std::move(files)) {
    std::uintmax_t bytes = 0;
    for (File& file : files_) {
      file.first = size_;
      file.rows = row_count(duckdb_, file);
      size_ += file.rows;
      bytes += fs::file_size(file.path);
    }
    if (size_ == 0) throw Error(fmt::format("[parquet] {}: no rows", files_[0].id));
    row_bytes_ = std::max<std::int64_t>(1, static_cast<std::int64_t>(bytes) / size_);
    choose_columns(options);
  }

  std::int64_t size() const override { return size_; }
  const std::vector<std::string>& classes() const override { return classes_; }
  std::int64_t window() const override {
    return std::max<std::int64_t>(16, window_bytes / row_bytes_);
  }

  std::vector<Example> read(std::span<const std::int64_t> positions) override {
    std::map<std::int64_t, Example> found;
    for (const File& file : files_) found.merge(read_rows(file, positions));
    std::vector<Example> examples;
    for (const std::int64_t position : positions) examples.push_back(std::move(found[position]));
    return examples;
  }

 private:
  void choose_columns(const DatasetOptions& options) {
    const Schema schema(duckdb_, files_[0]);
    std::string label = "CAST(NULL AS BIGINT)", map = "CAST(NULL AS BLOB)";
    std::string name = "CAST(NULL AS VARCHAR)";
    const Column images = schema.image_column(options.image_column);
    if (const auto column = schema.label_column(options.label_column)) {
      classes_ = schema.classes(column->name);
      if (holds_images(column->type))
        map = bytes_of(*column);
      else if (holds_text(column->type))
        name = name_classes(column->name);
      else
        label = fmt::format("CAST({} AS BIGINT)", quoted_identifier(column->name));
    }
    select_ = fmt::format(
        "SELECT file_row_number, {}, {}, {}, {}, {} FROM read_parquet(?, file_row_number = true, "
        "hive_partitioning = false)",
        bytes_of(images), label, map, path_of(images), name);
  }

  // Takes the distinct texts of a column as the classes, in their order.
  std::string name_classes(const std::string& column) {
    std::set<std::string> names;
    for (const File& file : files_) {
      const std::string parameters[] = {literal_path(file.path)};
      duckdb_.query(fmt::format("SELECT DISTINCT {0} FROM read_parquet(?, hive_partitioning = "
                                "false) WHERE {0} IS NOT NULL",
                                quoted_identifier(column)),
                    parameters, file.id,
                    [&](const DuckDbRow& row) { names.emplace(row.bytes(0).value_or("")); });
    }
    classes_.assign(names.begin(), names.end());
    return quoted_identifier(column);
  }

  static std::string bytes_of(const Column& images) {
    const std::string name = quoted_identifier(images.name);
    if (holds_text(images.type)) return "CAST(NULL AS BLOB)";
    return images.type == "BLOB" ? name : fmt::format("struct_extract({}, 'bytes')", name);
  }
  static std::string path_of(const Column& images) {
    const std::string name = quoted_identifier(images.name);
    if (holds_text(images.type)) return name;
    return images.type.find("path VARCHAR") == images.type.npos
               ? "CAST(NULL AS VARCHAR)"
               : fmt::format("struct_extract({}, 'path')", name);
  }

  // Those of the positions that are in a file.
  std::map<std::int64_t, Example> read_rows(const File& file,
                                            std::span<const std::int64_t> positions) const {
    std::vector<std::int64_t> rows;
    for (const std::int64_t position : positions)
      if (position >= file.first && position < file.first + file.rows)
        rows.push_back(position - file.first);
    std::map<std::int64_t, Example> found;
    if (rows.empty()) return found;
    const std::string parameters[] = {literal_path(file.path)};
    const auto [first, last] = std::ranges::minmax(rows);  // lets DuckDB skip parts of the file
    const std::string sql =
        fmt::format("{} WHERE file_row_number BETWEEN {} AND {} AND file_row_number IN ({})",
                    select_, first, last, fmt::join(rows, ","));
    duckdb_.query(sql, parameters, file.id, [&](const DuckDbRow& row) {
      const std::int64_t number = row.integer(0).value();
      found[file.first + number] = example(file, number, row);
    });
    return found;
  }

  Example example(const File& file, std::int64_t number, const DuckDbRow& row) const {
    Example result{.id = fmt::format("{} row {}", file.id, number), .label = row.integer(2)};
    if (const auto name = row.bytes(5))
      result.label = std::ranges::lower_bound(classes_, *name) - classes_.begin();
    if (const auto bytes = row.bytes(1))
      result.content = encoded(*bytes);
    else if (const auto path = row.bytes(4))
      result.content = image_at(file.path.parent_path(), *path, result.id);
    else
      result.content = Unreadable{result.id + ": the image has no bytes"};
    if (const auto bytes = row.bytes(3)) result.target = encoded(*bytes);
    return result;
  }
  // A path is relative to the folder of the Parquet file, or to the one above.
  static std::variant<Unreadable, EncodedImage, Image, Tensor> image_at(const fs::path& folder,
                                                                        std::string_view path,
                                                                        const std::string& id) {
    for (const fs::path& base : {folder, folder.parent_path()})
      if (fs::is_regular_file(base / path)) return read_file(base / path, "dataset");
    return Unreadable{fmt::format("{}: the image has no bytes, and there is no file {}", id, path)};
  }
  static EncodedImage encoded(std::string_view text) {
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
  }

  DuckDb duckdb_;
  std::vector<File> files_;
  std::vector<std::string> classes_;
  std::string select_;
  std::int64_t size_ = 0;
  std::int64_t row_bytes_ = 1;
};

}  // namespace

std::unique_ptr<Dataset> open_parquet(std::vector<fs::path> paths, const fs::path& root,
                                      const DatasetOptions& options) {
  for (fs::path& path : paths)
    if (!root.empty()) path = path.lexically_relative(root);
  const std::string subject = root.empty() ? paths[0].string() : root.string();
  std::vector<File> files;
  for (const fs::path& path : files_of_split(paths, options.split, subject))
    files.push_back({.path = root / path, .id = path.string()});
  return std::make_unique<ParquetDataset>(std::move(files), options);
}

}  // namespace vernier
