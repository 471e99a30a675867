#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/tensor/tensor.h"

namespace vernier_onnx {
class GraphProto;
class ModelProto;
class TensorProto;
}  // namespace vernier_onnx

namespace vernier {

// An input or output that is no tensor of a DType: a sequence, an optional, a map, strings.
struct OtherValue {
  std::string name;
  std::string type;  // "sequence", "optional", "map", "sparse tensor", "string"
  bool operator==(const OtherValue&) const = default;
};

class MappedFile;
class MappedFiles;
struct Rope;

// The elements of a weight or constant where they are stored: in the model's proto or in a mapped
// file, copied only out of typed fields. It is valid as long as the model; the memory of a file's
// pages is given back when it ends.
class WeightView : public TensorView {
 public:
  WeightView(const vernier_onnx::TensorProto& proto, std::span<const std::byte> stored,
             std::shared_ptr<const MappedFile> file = nullptr);
  WeightView(const vernier_onnx::TensorProto& proto, std::vector<std::byte> copied);
  WeightView(WeightView&&) noexcept = default;
  WeightView& operator=(WeightView&&) = delete;
  ~WeightView();

 private:
  std::vector<std::byte> copied_;
  std::shared_ptr<const MappedFile> file_;  // that has the bytes
};

// An ONNX model: its graph, and the weights wherever they are. Large weights of a loaded model are
// left in the file, as external data whose location is the model file itself: so weights must be
// read with tensor(), never from raw_data.
class Model {
 public:
  static Model load(const std::filesystem::path& path);
  // A file that a tool made from another model: external data is still in that model's folder, and
  // messages name it.
  static Model load_derived(const std::filesystem::path& path, const Model& origin);
  // `folder` is where external data is looked for; `name` stands for the model in messages.
  static Model parse(std::string_view bytes, std::filesystem::path folder = {},
                     std::string name = "model");

  Model(vernier_onnx::ModelProto proto, std::filesystem::path folder, std::string name = "model");
  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;
  ~Model();
  // Another graph over the same files.
  Model with(vernier_onnx::ModelProto proto) const;
  Model clone() const;

  vernier_onnx::ModelProto& proto() { return *proto_; }
  const vernier_onnx::ModelProto& proto() const { return *proto_; }
  const vernier_onnx::GraphProto& graph() const;
  vernier_onnx::GraphProto& graph();

  const std::filesystem::path& path() const { return path_; }  // empty unless loaded from a file
  const std::filesystem::path& folder() const { return folder_; }
  const std::string& name() const { return name_; }  // for messages: the file name

  // Inputs that are fed (those with an initializer are not) and outputs, in graph order.
  std::vector<TensorSpec> inputs() const;
  std::vector<TensorSpec> outputs() const;
  std::vector<OtherValue> other_inputs() const;
  std::vector<OtherValue> other_outputs() const;

  // Version of an operator set the model imports, 0 if it does not; "" is ONNX itself.
  std::int64_t opset(std::string_view domain = "") const;

  // A weight or constant with its elements, where they are stored or as a copy. Throws Error for
  // strings and for external data that is missing, too short or outside the model's folder.
  WeightView view(const vernier_onnx::TensorProto& proto) const;
  Tensor tensor(const vernier_onnx::TensorProto& proto) const;

  // Of all weights of the main graph, wherever they are stored.
  std::int64_t weight_bytes() const;

  // Whether the weight's elements are in the model file itself, left there by load().
  bool is_inside(const vernier_onnx::TensorProto& proto) const;

  // Writes the model under a temporary name and renames it into place. External data stays where it
  // is if it is in the same folder; else, or when the model would not fit into the 2 GB of an ONNX
  // file, weights go to `path`.data.
  void save(const std::filesystem::path& path) const;

  // The model as bytes, weights of the model file included; external data stays where it is,
  // relative to folder(). pieces() makes no copy of the weights that are in the model file.
  std::string serialize() const;
  Rope pieces() const;

 private:
  std::unique_ptr<vernier_onnx::ModelProto> proto_;
  std::filesystem::path path_;
  std::filesystem::path folder_;
  std::string name_;
  std::shared_ptr<const MappedFile> file_;
  std::shared_ptr<MappedFiles> external_;  // files of external data that were read
};

}  // namespace vernier
