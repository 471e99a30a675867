#include "vernier/model/model.h"

#include <fmt/format.h>
#include <vernier_onnx.pb.h>

#include <limits>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "vernier/error.h"
#include "vernier/model/genai_config.h"
#include "vernier/model/graph.h"
#include "vernier/model/onnx_type.h"
#include "vernier/model/skeleton.h"
#include "vernier/model/tensor_data.h"
#include "vernier/tensor/mapped_file.h"

namespace vernier {
namespace {

std::string other_type(const TypeProto& type) {
  switch (type.value_case()) {
    case TypeProto::kTensorType: return onnx_type_name(type.tensor_type().elem_type());
    case TypeProto::kSequenceType: return "sequence";
    case TypeProto::kMapType: return "map";
    case TypeProto::kOptionalType: return "optional";
    case TypeProto::kSparseTensorType: return "sparse tensor";
    default: return "unknown";
  }
}

bool is_tensor(const TypeProto& type) {
  return type.has_tensor_type() && dtype_of_onnx(type.tensor_type().elem_type());
}

TensorSpec spec_of(const ValueInfoProto& value) {
  const auto& tensor = value.type().tensor_type();
  TensorSpec spec{value.name(), *dtype_of_onnx(tensor.elem_type()), {}, tensor.has_shape()};
  for (const auto& dim : tensor.shape().dim())
    spec.shape.push_back(dim.has_dim_value() ? Dim{dim.dim_value(), ""} : Dim{-1, dim.dim_param()});
  return spec;
}

std::vector<const ValueInfoProto*> fed_inputs(const GraphProto& graph) {
  std::unordered_set<std::string_view> weights;
  for (const auto& tensor : graph.initializer()) weights.insert(tensor.name());
  for (const auto& tensor : graph.sparse_initializer()) weights.insert(tensor.values().name());
  std::vector<const ValueInfoProto*> inputs;
  for (const auto& value : graph.input())
    if (!weights.contains(value.name())) inputs.push_back(&value);
  return inputs;
}

std::vector<const ValueInfoProto*> all_outputs(const GraphProto& graph) {
  std::vector<const ValueInfoProto*> outputs;
  for (const auto& value : graph.output()) outputs.push_back(&value);
  return outputs;
}

std::vector<TensorSpec> specs(const std::vector<const ValueInfoProto*>& values) {
  std::vector<TensorSpec> specs;
  for (const auto* value : values)
    if (is_tensor(value->type())) specs.push_back(spec_of(*value));
  return specs;
}

std::vector<OtherValue> others(const std::vector<const ValueInfoProto*>& values) {
  std::vector<OtherValue> others;
  for (const auto* value : values)
    if (!is_tensor(value->type())) others.push_back({value->name(), other_type(value->type())});
  return others;
}

Error damaged(const std::string& name) {
  return Error(fmt::format(
      "[model] {}: expected an ONNX model, found a file that is damaged or something else; export "
      "it again, or fetch it again if it was downloaded",
      name));
}

}  // namespace

// Files of external data, each mapped once.
class MappedFiles {
 public:
  std::shared_ptr<const MappedFile> open(const std::filesystem::path& folder,
                                         const std::string& location) {
    const std::scoped_lock lock(mutex_);
    auto& file = files_[location];
    if (!file) file = std::make_shared<const MappedFile>(resolve_external(folder, location));
    return file;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<const MappedFile>> files_;
};

WeightView::WeightView(const TensorProto& proto, std::span<const std::byte> stored,
                       std::shared_ptr<const MappedFile> file)
    : TensorView{proto.name(), dtype_of(proto), std::span(proto.dims().data(), proto.dims_size()),
                 stored},
      file_(std::move(file)) {}
WeightView::WeightView(const TensorProto& proto, std::vector<std::byte> copied)
    : WeightView(proto, std::span<const std::byte>()) {
  copied_ = std::move(copied);
  bytes = copied_;
}
WeightView::~WeightView() {
  if (file_) forget(bytes);
}

Model::Model(ModelProto proto, std::filesystem::path folder, std::string name)
    : proto_(std::make_unique<ModelProto>(std::move(proto))),
      folder_(std::move(folder)),
      name_(std::move(name)),
      external_(std::make_shared<MappedFiles>()) {}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

Model Model::with(ModelProto proto) const {
  Model model(std::move(proto), folder_, name_);
  model.path_ = path_;
  model.file_ = file_;
  model.external_ = external_;
  return model;
}

Model Model::clone() const { return with(*proto_); }

Model Model::load(const std::filesystem::path& named) {
  const auto folder =
      std::filesystem::is_directory(named) ? read_genai_config(named) : std::nullopt;
  const std::filesystem::path& path = folder ? folder->model : named;
  auto file = std::make_shared<const MappedFile>(path);
  const auto light = skeleton(file->bytes(), path.filename().string());
  if (!light) throw damaged(path.string());
  Model model = parse(*light, path.parent_path(), path.string());
  model.path_ = path;
  model.file_ = std::move(file);
  return model;
}

Model Model::load_derived(const std::filesystem::path& path, const Model& origin) {
  Model model = load(path);
  model.folder_ = origin.folder_;
  model.name_ = origin.name_;
  return model;
}

Model Model::parse(std::string_view bytes, std::filesystem::path folder, std::string name) {
  if (bytes.size() > std::numeric_limits<int>::max())
    throw Error(
        fmt::format("[model] {}: {} bytes, an ONNX file holds at most 2 GB; keep the "
                    "weights as external data",
                    name, bytes.size()));
  ModelProto proto;
  if (!proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) || !proto.has_graph())
    throw damaged(name);
  return Model(std::move(proto), std::move(folder), std::move(name));
}

const GraphProto& Model::graph() const { return proto_->graph(); }
GraphProto& Model::graph() { return *proto_->mutable_graph(); }

std::vector<TensorSpec> Model::inputs() const { return specs(fed_inputs(graph())); }
std::vector<TensorSpec> Model::outputs() const { return specs(all_outputs(graph())); }
std::vector<OtherValue> Model::other_inputs() const { return others(fed_inputs(graph())); }
std::vector<OtherValue> Model::other_outputs() const { return others(all_outputs(graph())); }

std::int64_t Model::opset(std::string_view domain) const {
  for (const auto& import : proto_->opset_import())
    if (import.domain() == domain || (is_onnx_domain(domain) && is_onnx_domain(import.domain())))
      return import.version();
  return 0;
}

std::int64_t Model::weight_bytes() const {
  std::int64_t bytes = 0;
  for (const auto& weight : graph().initializer()) bytes += vernier::weight_bytes(weight);
  return bytes;
}

bool Model::is_inside(const TensorProto& proto) const {
  return file_ && has_external_data(proto) &&
         external_data(proto).location == path_.filename().string();
}

WeightView Model::view(const TensorProto& proto) const {
  if (has_external_data(proto)) {
    auto file = is_inside(proto) ? file_ : external_->open(folder_, external_data(proto).location);
    const auto bytes = external_bytes(proto, file->bytes());
    return {proto, bytes, std::move(file)};
  }
  if (proto.has_raw_data()) return {proto, raw_bytes(proto)};
  return {proto, typed_bytes(proto)};
}

Tensor Model::tensor(const TensorProto& proto) const { return copy(view(proto)); }

}  // namespace vernier
