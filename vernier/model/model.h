#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/model/onnx.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

// An input or output that is not a tensor of a DType: a sequence, an optional, a map, strings.
struct OtherValue {
  std::string name;
  std::string type;  // "sequence", "optional", "map", "sparse tensor", "string"
  bool operator==(const OtherValue&) const = default;
};

class MappedFile;
class MappedFiles;
struct Rope;

// The elements of a weight or constant, in place in the model's proto or in a mapped file; only
// typed fields are copied. Valid as long as the model. The destructor releases the file's pages
// from memory.
class WeightView : public TensorView {
 public:
  WeightView(const TensorProto& proto, std::span<const std::byte> stored,
             std::shared_ptr<const MappedFile> file = nullptr);
  WeightView(const TensorProto& proto, std::vector<std::byte> copied);
  WeightView(WeightView&&) noexcept = default;
  WeightView& operator=(WeightView&&) = delete;
  ~WeightView();

 private:
  std::vector<std::byte> copied_;
  std::shared_ptr<const MappedFile> file_;  // holds the bytes; null if they are not in a file
};

// An ONNX model. Large weights of a loaded model are left in the file: the proto refers to them as
// external data whose location is the model file itself. So weights must be read with view() or
// tensor(), never from raw_data.
class Model {
 public:
  // Loads an ONNX file, or the decoder of an onnxruntime-genai folder.
  static Model load(const std::filesystem::path& path);
  // Loads a file that a tool made from `origin`: external data is still in the folder of `origin`,
  // and messages show the name of `origin`.
  static Model load_derived(const std::filesystem::path& path, const Model& origin);
  // `folder` is where external data is looked for; `name` stands for the model in messages.
  static Model parse(std::string_view bytes, std::filesystem::path folder = {},
                     std::string name = "model");

  Model(ModelProto proto, std::filesystem::path folder, std::string name = "model");
  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;
  ~Model();
  // A model with another proto over the same files.
  Model with(ModelProto proto) const;
  Model clone() const;

  ModelProto& proto() { return *proto_; }
  const ModelProto& proto() const { return *proto_; }
  const GraphProto& graph() const;
  GraphProto& graph();

  const std::filesystem::path& path() const { return path_; }  // empty unless loaded from a file
  const std::filesystem::path& folder() const { return folder_; }
  const std::string& name() const { return name_; }  // for messages: the file name

  // Inputs (without those that have an initializer) and outputs, in graph order.
  std::vector<TensorSpec> inputs() const;
  std::vector<TensorSpec> outputs() const;
  std::vector<OtherValue> other_inputs() const;
  std::vector<OtherValue> other_outputs() const;

  // The imported version of an operator set; 0 if it is not imported. "" is ONNX itself.
  std::int64_t opset(std::string_view domain = "") const;

  // The elements of a weight or constant, in place or as a copy. Throws Error for strings and for
  // external data that is missing, too short or outside the model's folder.
  WeightView view(const TensorProto& proto) const;
  Tensor tensor(const TensorProto& proto) const;

  // The size of all weights of the main graph, external data included.
  std::int64_t weight_bytes() const;

  // Whether the weight's elements are in the model file itself, left there by load().
  bool is_inside(const TensorProto& proto) const;

  // Writes the model under a temporary name and renames it into place. External data in the same
  // folder stays where it is. If it is in another folder, or if the model would exceed the 2 GB of
  // an ONNX file, weights are written to `path`.data.
  void save(const std::filesystem::path& path) const;

  // The serialized model, including weights that are in the model file; external data stays where
  // it is, relative to folder(). pieces() does not copy the weights in the model file.
  std::string serialize() const;
  Rope pieces() const;

 private:
  std::unique_ptr<ModelProto> proto_;
  std::filesystem::path path_;
  std::filesystem::path folder_;
  std::string name_;
  std::shared_ptr<const MappedFile> file_;
  std::shared_ptr<MappedFiles> external_;  // mapped files of external data
};

}  // namespace vernier
