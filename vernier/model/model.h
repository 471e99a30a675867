#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
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

// An ONNX model: its graph, and the weights wherever they are. Weights must be read with tensor():
// raw_data may be empty for those that stay in a file.
class Model {
 public:
  static Model load(const std::filesystem::path& path);
  // `folder` is where external data is looked for; `name` stands for the model in messages.
  static Model parse(std::string_view bytes, std::filesystem::path folder = {},
                     std::string name = "model");

  Model(vernier_onnx::ModelProto proto, std::filesystem::path folder, std::string name = "model");
  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;
  ~Model();
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

  // A weight or constant with its elements, from wherever they are stored. Throws Error for strings
  // and for external data that is missing, too short or outside the model's folder.
  Tensor tensor(const vernier_onnx::TensorProto& proto) const;

  // Writes the model under a temporary name and renames it into place. Weights that were in files
  // of their own stay there when the folder is the same, and go to `path`.data otherwise.
  void save(const std::filesystem::path& path) const;
  std::string serialize() const;

 private:
  std::unique_ptr<vernier_onnx::ModelProto> proto_;
  std::filesystem::path path_;
  std::filesystem::path folder_;
  std::string name_;
};

}  // namespace vernier
