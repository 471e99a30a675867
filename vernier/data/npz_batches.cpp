#include "vernier/data/npz_batches.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "vernier/data/input_shape.h"
#include "vernier/error.h"
#include "vernier/tensor/convert.h"
#include "vernier/tensor/permute.h"
#include "vernier/tensor/sample_archive.h"

namespace vernier {
namespace {

// How the rows of one array become one input.
struct BatchPlan {
  TensorSpec input;
  std::string array;
  std::int64_t batch = 1;             // rows per sample
  bool whole_samples = false;         // each row is a whole sample
  bool squeezed = false;              // rows and input differ in axes of size 1
  std::vector<int> permutation = {};  // of a row's axes, for images in the other channel layout
  std::int64_t samples = 0;
};

bool fits_squeezed(const Shape& row, std::vector<Dim> dims) {
  std::erase_if(dims, [](const Dim& dim) { return dim.size == 1; });
  return fits(squeezed(row), dims);
}

// The row's shape with its axes of size 1 placed where the dims have theirs.
Shape unsqueezed(const Shape& row, const std::vector<Dim>& dims) {
  const Shape sizes = squeezed(row);
  Shape shape;
  auto size = sizes.begin();
  for (const Dim& dim : dims) shape.push_back(dim.size == 1 ? 1 : *size++);
  return shape;
}

// The permutation between channels first and channels last, if the row fits only when permuted (the
// file was made for a model exported in the other layout); else empty.
std::vector<int> image_permutation(const Shape& row, const std::vector<Dim>& dims) {
  if (row.size() < 3 || row.size() != dims.size() || fits(row, dims)) return {};
  const auto batch = static_cast<int>(row.size()) - 3;
  for (const auto& order : {std::array{1, 2, 0}, std::array{2, 0, 1}}) {
    std::vector<int> permutation;
    for (int axis = 0; axis < batch; ++axis) permutation.push_back(axis);
    for (const int axis : order) permutation.push_back(batch + axis);
    const bool becomes_first = order[0] == 2;
    const std::int64_t channels = becomes_first ? row.back() : row[batch];
    const Dim& wanted = becomes_first ? dims[batch] : dims.back();
    if ((channels == 1 || channels == 3 || channels == 4) && !wanted.is_dynamic() &&
        fits(permuted_shape(row, permutation), dims))
      return permutation;
  }
  return {};
}

// The rows of a batch, or a row that is a whole sample, in the input's channel layout.
Tensor permuted(const Tensor& rows, const BatchPlan& plan) {
  if (plan.whole_samples) return permute_axes(rows, plan.permutation);
  std::vector<int> permutation = {0};
  for (const int axis : plan.permutation) permutation.push_back(axis + 1);
  return permute_axes(rows, permutation);
}

class NpzSamples : public Samples {
 public:
  NpzSamples(SampleArchive archive, std::vector<BatchPlan> plans, std::int64_t count)
      : archive_(std::move(archive)), plans_(std::move(plans)), count_(count) {}

  std::int64_t size() const override { return count_; }
  std::vector<Tensor> sample(std::int64_t index) override {
    std::vector<Tensor> tensors;
    for (const BatchPlan& plan : plans_) {
      Tensor rows = archive_.read(plan.array, index * plan.batch, plan.batch);
      rows.name = plan.input.name;
      if (plan.whole_samples) rows = unstack(std::move(rows));
      if (plan.squeezed) rows.shape = unsqueezed(rows.shape, plan.input.shape);
      if (!plan.permutation.empty()) rows = permuted(rows, plan);
      tensors.push_back(rows.dtype == plan.input.dtype ? std::move(rows)
                                                       : convert(rows, plan.input.dtype));
    }
    return tensors;
  }

 private:
  SampleArchive archive_;
  std::vector<BatchPlan> plans_;
  std::int64_t count_;
};

std::vector<std::string> quoted(const std::vector<std::string>& names) {
  std::vector<std::string> result;
  for (const std::string& name : names) result.push_back(fmt::format("'{}'", name));
  return result;
}

// Whether the names only number the arrays: 0, 1... or numpy.savez's arr_0, arr_1...
bool are_numbered(const std::vector<std::string>& names) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] != std::to_string(i) && names[i] != fmt::format("arr_{}", i)) return false;
  return true;
}

// The name of the array for an input: by name, or by position if names only number the arrays. The
// array of an .npy belongs to the only input, whatever its name.
std::string array_of(const SampleArchive& archive, std::span<const TensorSpec> inputs,
                     const TensorSpec& input,
                     const std::map<std::string, std::string>& other_names) {
  if (archive.has(input.name)) return input.name;
  for (const auto& [array, name] : other_names)
    if (name == input.name && archive.has(array)) return array;
  if (inputs.size() == 1 && archive.subject().ends_with(".npy")) return archive.names()[0];
  const auto place = static_cast<std::size_t>(&input - inputs.data());
  if (inputs.size() <= archive.names().size() && are_numbered(archive.names()))
    return archive.names()[place];
  throw Error(fmt::format(
      "[npz] {}: has no array for input '{}', it has {}; name the arrays as the "
      "model's inputs are named",
      archive.subject(), input.name,
      archive.names().empty() ? "none"
                              : fmt::format("{}", fmt::join(quoted(archive.names()), ", "))));
}

// The spec with the dims that the user gave; else, if the model does not declare a rank, with the
// array's dtype and rank.
TensorSpec completed(TensorSpec input, const std::string& array, const SampleArchive& archive,
                     const std::map<std::string, Shape>& shapes) {
  if (!input.ranked) {
    const SampleArchive::Row row = archive.row(array, 0);
    const std::size_t batch_axis = archive.is_folder() ? 0 : 1;
    input = {.name = input.name, .dtype = row.dtype};
    input.shape.resize(batch_axis + row.shape.size());
  }
  const auto given = shapes.find(input.name);
  if (given != shapes.end()) input.shape = static_dims(given->second);
  return input;
}

// The remedy for a row that does not fit: the right flag if --shape was given.
std::string shape_remedy(const SampleArchive::Row& row, const TensorSpec& input, bool whole_samples,
                         bool shape_given) {
  if (!shape_given) return "fix the file, or take a model that was exported for its shape";
  Shape shape = row.shape;
  if (!whole_samples) shape.insert(shape.begin(), input.shape[0].size);
  return fmt::format("pass {}", shape_option(input.name, shape));
}

std::vector<Dim> row_dims(const BatchPlan& plan) {
  return {plan.input.shape.begin() + (plan.whole_samples ? 0 : 1), plan.input.shape.end()};
}

void require_row_fits(const SampleArchive::Row& row, const BatchPlan& plan, bool shape_given) {
  const TensorSpec& input = plan.input;
  const std::vector<Dim> dims = row_dims(plan);
  const Shape shape = plan.permutation.empty() || row.shape.size() != plan.permutation.size()
                          ? row.shape
                          : permuted_shape(row.shape, plan.permutation);
  if (plan.squeezed ? !fits_squeezed(shape, dims) : !fits(shape, dims))
    throw Error(fmt::format("[npz] {}: a row of '{}' has shape {}, {} {}; {}", row.subject,
                            input.name, format_shape(row.shape),
                            shape_given ? "--shape says" : "model expects", format_shape(dims),
                            shape_remedy(row, input, plan.whole_samples, shape_given)));
}

BatchPlan plan_batches(const SampleArchive& archive, const TensorSpec& input,
                       const std::string& array, bool shape_given) {
  const Shape row = archive.row(array, 0).shape;
  const std::size_t rank = row.size() + 1;
  const std::int64_t rows = archive.rows(array);
  BatchPlan plan{.input = input, .array = array, .whole_samples = rank == input.shape.size() + 1};
  if (!plan.whole_samples && rank != input.shape.size()) {
    plan.squeezed = plan.whole_samples = fits_squeezed(row, input.shape);
    if (!plan.squeezed)
      throw Error(
          fmt::format("[npz] {}: '{}' has rank {}, model expects {}; stack samples on a "
                      "leading axis, or fix the file",
                      archive.subject(), input.name, rank, format_shape(input.shape)));
  }
  if (!plan.whole_samples && !input.shape[0].is_dynamic()) plan.batch = input.shape[0].size;
  if (plan.batch < 1 || rows < plan.batch)
    throw Error(fmt::format("[npz] {}: '{}' has {} rows, the model's batch is {}; give it more",
                            archive.subject(), input.name, rows, plan.batch));
  plan.samples = rows / plan.batch;
  if (!plan.squeezed && !shape_given) plan.permutation = image_permutation(row, row_dims(plan));
  const std::int64_t to_check = archive.is_folder() ? plan.samples * plan.batch : 1;
  for (std::int64_t i = 0; i < to_check; ++i)
    require_row_fits(archive.row(array, i), plan, shape_given);
  return plan;
}

void require_same_count(const SampleArchive& archive, std::span<const BatchPlan> plans) {
  for (const BatchPlan& plan : plans)
    if (plan.samples != plans[0].samples)
      throw Error(fmt::format(
          "[npz] {}: '{}' holds {} samples, '{}' holds {}; both must hold as "
          "many",
          archive.subject(), plans[0].input.name, plans[0].samples, plan.input.name, plan.samples));
}

std::vector<Warning> warnings_of(const SampleArchive& archive, std::span<const BatchPlan> plans) {
  const std::string& file = archive.subject();
  std::vector<Warning> warnings;
  for (const BatchPlan& plan : plans) {
    const std::string& name = plan.input.name;
    const SampleArchive::Row row = archive.row(plan.array, 0);
    if (row.dtype != plan.input.dtype)
      warnings.push_back({.kind = WarningKind::cast_array,
                          .subject = name,
                          .other = file,
                          .more = {std::string(dtype_name(row.dtype)),
                                   std::string(dtype_name(plan.input.dtype))}});
    if (!plan.permutation.empty())
      warnings.push_back({.kind = WarningKind::permuted_rows,
                          .subject = name,
                          .other = file,
                          .more = {format_shape(row.shape), format_shape(row_dims(plan))}});
    const std::int64_t rows = archive.rows(plan.array);
    if (rows % plan.batch != 0)
      warnings.push_back({.kind = WarningKind::leftover_rows,
                          .subject = name,
                          .other = file,
                          .value = static_cast<double>(rows % plan.batch),
                          .limit = static_cast<double>(rows),
                          .more = {std::to_string(plan.batch)}});
  }
  std::vector<std::string> others;
  for (const std::string& name : archive.names())
    if (std::ranges::none_of(plans, [&](const auto& plan) { return plan.array == name; }))
      others.push_back(name);
  // Unnamed extra arrays are for example the labels that a PyTorch loader returns with each sample.
  if (!others.empty() && are_numbered(archive.names())) {
    warnings.push_back({.kind = WarningKind::unnamed_arrays,
                        .other = file,
                        .value = static_cast<double>(archive.names().size()),
                        .limit = static_cast<double>(plans.size())});
    return warnings;
  }
  for (const std::string& name : others)
    warnings.push_back({WarningKind::unused_array, name, file});
  return warnings;
}

}  // namespace

NpzBatches npz_batches(const std::filesystem::path& path, std::span<const TensorSpec> inputs,
                       const std::map<std::string, Shape>& shapes,
                       const std::map<std::string, std::string>& other_names) {
  check_shapes(inputs, shapes);
  SampleArchive archive(path);
  std::vector<BatchPlan> plans;
  for (const TensorSpec& input : inputs) {
    const std::string array = array_of(archive, inputs, input, other_names);
    plans.push_back(plan_batches(archive, completed(input, array, archive, shapes), array,
                                 shapes.contains(input.name)));
  }
  require_same_count(archive, plans);
  std::vector<Warning> warnings = warnings_of(archive, plans);
  const std::int64_t count = plans.empty() ? 0 : plans[0].samples;
  return {std::make_unique<NpzSamples>(std::move(archive), std::move(plans), count),
          std::move(warnings)};
}

}  // namespace vernier
