#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/data/dataset.h"

namespace vernier {

// A column of a dataset's table.
struct DatasetColumn {
  enum class Holds { images, text, integers, arrays, other };
  std::string name;
  Holds holds = Holds::other;
  std::string type;  // the format's name of the type, for messages
};

// Chooses the columns of inputs and labels: those that the user named, else those that Hugging
// Face's metadata marks as such, else those with usual names.
class DatasetColumns {
 public:
  // `subject` starts messages. `metadata` is the JSON text of the entry "huggingface"; malformed
  // metadata is ignored.
  DatasetColumns(std::string subject, std::vector<DatasetColumn> columns,
                 std::string_view metadata);

  // Throws Error if there is none.
  const DatasetColumn& inputs(const std::string& wanted) const;
  // Null if there is none; throws Error if one was wanted.
  const DatasetColumn* labels(const std::string& wanted) const;
  // The names of a column's labels, in order; empty if the metadata does not name them.
  std::vector<std::string> classes(const std::string& column) const;

 private:
  struct Feature {
    std::string type;  // "Image", "ClassLabel"...
    std::vector<std::string> classes;
  };
  struct Rule {
    DatasetColumn::Holds holds;
    const char* feature;  // the feature type of such a column in the metadata; "" if none
    std::vector<const char*> usual;
  };

  const DatasetColumn* find(const std::string& wanted, const Rule& rule) const;
  const DatasetColumn* find_any(const std::string& wanted, const std::vector<Rule>& rules) const;
  [[noreturn]] void fail(const std::string& reason) const;

  std::string subject_;
  std::vector<DatasetColumn> columns_;
  std::map<std::string, Feature> features_;
};

// The image of a row: its bytes, else the file at its path, relative to the table's folder or that
// folder's parent. Unreadable, with a reason that starts with `id`, if there is neither.
std::variant<Unreadable, EncodedImage, Image, Tensor> image_of_row(
    std::optional<std::string_view> bytes, std::optional<std::string_view> path,
    const std::filesystem::path& folder, const std::string& id);
EncodedImage encoded_image(std::string_view bytes);

}  // namespace vernier
