#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "vernier/data/dataset_columns.h"
#include "vernier/data/dataset_formats.h"
#include "vernier/data/duckdb_query.h"
#include "vernier/data/split.h"
#include "vernier/error.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;
using Holds = DatasetColumn::Holds;

// Bytes of encoded images held in memory at a time.
constexpr std::int64_t window_bytes = std::int64_t{64} << 20;

struct ParquetPart {
  fs::path path;
  std::string id;
  std::int64_t first = 0;  // position of its first row in the dataset
  std::int64_t rows = 0;
};

Holds what_holds(const std::string& type) {
  constexpr std::string_view integers[] = {"TINYINT",  "SMALLINT",  "INTEGER",  "BIGINT",
                                           "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"};
  if (type == "VARCHAR") return Holds::text;
  if (type == "BLOB" || (type.starts_with("STRUCT(") && type.find("bytes BLOB") != type.npos))
    return Holds::images;
  return std::ranges::count(integers, type) > 0 ? Holds::integers : Holds::other;
}

std::vector<DatasetColumn> columns_of(const DuckDb& duckdb, const ParquetPart& file) {
  std::vector<DatasetColumn> columns;
  duckdb.query(
      "SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM read_parquet(?, "
      "hive_partitioning = false))",
      file.path, file.id, [&](const DuckDbRow& row) {
        const std::string type(*row.bytes(1));
        columns.push_back({std::string(*row.bytes(0)), what_holds(type), type});
      });
  return columns;
}

std::int64_t row_count(const DuckDb& duckdb, const ParquetPart& file) {
  std::int64_t rows = 0;
  duckdb.query("SELECT CAST(num_rows AS BIGINT) FROM parquet_file_metadata(?)", file.path, file.id,
               [&](const DuckDbRow& row) { rows = row.integer(0).value_or(0); });
  return rows;
}

// The `huggingface` entry of the file's metadata.
std::string metadata_of(const DuckDb& duckdb, const ParquetPart& file) {
  std::string metadata;
  duckdb.query("SELECT value FROM parquet_kv_metadata(?) WHERE key = 'huggingface'::BLOB",
               file.path, file.id,
               [&](const DuckDbRow& row) { metadata = row.bytes(0).value_or(""); });
  return metadata;
}

class ParquetDataset : public Dataset {
 public:
  ParquetDataset(std::vector<ParquetPart> files, const DatasetOptions& options)
      : files_(std::move(files)) {
    std::uintmax_t bytes = 0;
    for (ParquetPart& file : files_) {
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
    for (const ParquetPart& file : files_) found.merge(read_rows(file, positions));
    std::vector<Example> examples;
    for (const std::int64_t position : positions) examples.push_back(std::move(found[position]));
    return examples;
  }

 private:
  void choose_columns(const DatasetOptions& options) {
    // All files are taken to have the columns of the first.
    const DatasetColumns columns("[parquet] " + files_[0].id, columns_of(duckdb_, files_[0]),
                                 metadata_of(duckdb_, files_[0]));
    std::string label = "CAST(NULL AS BIGINT)", map = "CAST(NULL AS BLOB)";
    std::string name = "CAST(NULL AS VARCHAR)";
    const DatasetColumn& images = columns.inputs(options.image_column);
    if (const DatasetColumn* column = columns.labels(options.label_column)) {
      classes_ = columns.classes(column->name);
      if (column->holds == Holds::images)
        map = bytes_of(*column);
      else if (column->holds == Holds::text)
        name = name_classes(column->name);
      else
        label = fmt::format("CAST({} AS BIGINT)", quoted_identifier(column->name));
    }
    select_ = fmt::format(
        "SELECT file_row_number, {}, {}, {}, {}, {} FROM read_parquet(?, file_row_number = true, "
        "hive_partitioning = false)",
        bytes_of(images), label, map, path_of(images), name);
  }

  // Uses the distinct texts of a column, sorted, as classes. Returns the column's SQL expression.
  std::string name_classes(const std::string& column) {
    std::set<std::string> names;
    for (const ParquetPart& file : files_)
      duckdb_.query(fmt::format("SELECT DISTINCT {0} FROM read_parquet(?, hive_partitioning = "
                                "false) WHERE {0} IS NOT NULL",
                                quoted_identifier(column)),
                    file.path, file.id,
                    [&](const DuckDbRow& row) { names.emplace(row.bytes(0).value_or("")); });
    classes_.assign(names.begin(), names.end());
    return quoted_identifier(column);
  }

  static std::string bytes_of(const DatasetColumn& images) {
    const std::string name = quoted_identifier(images.name);
    if (images.holds == Holds::text) return "CAST(NULL AS BLOB)";
    return images.type == "BLOB" ? name : fmt::format("struct_extract({}, 'bytes')", name);
  }
  static std::string path_of(const DatasetColumn& images) {
    const std::string name = quoted_identifier(images.name);
    if (images.holds == Holds::text) return name;
    return images.type.find("path VARCHAR") == images.type.npos
               ? "CAST(NULL AS VARCHAR)"
               : fmt::format("struct_extract({}, 'path')", name);
  }

  // The examples at those of the positions that are in this file.
  std::map<std::int64_t, Example> read_rows(const ParquetPart& file,
                                            std::span<const std::int64_t> positions) const {
    std::vector<std::int64_t> rows;
    for (const std::int64_t position : positions)
      if (position >= file.first && position < file.first + file.rows)
        rows.push_back(position - file.first);
    std::map<std::int64_t, Example> found;
    if (rows.empty()) return found;
    const auto [first, last] = std::ranges::minmax(rows);  // lets DuckDB skip parts of the file
    const std::string sql =
        fmt::format("{} WHERE file_row_number BETWEEN {} AND {} AND file_row_number IN ({})",
                    select_, first, last, fmt::join(rows, ","));
    duckdb_.query(sql, file.path, file.id, [&](const DuckDbRow& row) {
      const std::int64_t number = row.integer(0).value();
      found[file.first + number] = example(file, number, row);
    });
    return found;
  }

  Example example(const ParquetPart& file, std::int64_t number, const DuckDbRow& row) const {
    Example result{.id = fmt::format("{} row {}", file.id, number), .label = row.integer(2)};
    if (const auto name = row.bytes(5))
      result.label = std::ranges::lower_bound(classes_, *name) - classes_.begin();
    result.content = image_of_row(row.bytes(1), row.bytes(4), file.path.parent_path(), result.id);
    if (const auto bytes = row.bytes(3)) result.target = encoded_image(*bytes);
    return result;
  }

  DuckDb duckdb_;
  std::vector<ParquetPart> files_;
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
  std::vector<ParquetPart> files;
  for (const fs::path& path : files_of_split(paths, options.split, subject))
    files.push_back({.path = root / path, .id = path.string()});
  return std::make_unique<ParquetDataset>(std::move(files), options);
}

}  // namespace vernier
