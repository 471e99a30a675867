#include "vernier/runtime/recorded_runner.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "vernier/error.h"

namespace vernier {
namespace {

std::int64_t common_rows(const SampleArchive& archive) {
  const std::vector<std::string>& names = archive.names();
  if (names.empty())
    throw Error(
        fmt::format("[recorded] {}: holds no array; record some tensors first", archive.subject()));
  const std::int64_t rows = archive.rows(names[0]);
  for (const std::string& name : names)
    if (archive.rows(name) != rows)
      throw Error(
          fmt::format("[recorded] {}: '{}' holds {} samples, '{}' holds {}; the leading "
                      "axis of every array must be the samples",
                      archive.subject(), names[0], rows, name, archive.rows(name)));
  return rows;
}

TensorSpec spec_of(const SampleArchive& archive, const std::string& name) {
  if (!archive.has(name))
    throw Error(fmt::format("[recorded] {}: has no array '{}', it has {}; choose among these",
                            archive.subject(), name, fmt::join(archive.names(), ", ")));
  const SampleArchive::Row row = archive.row(name, 0);
  return {name, row.dtype, static_dims(row.shape)};
}

}  // namespace

RecordedRunner::RecordedRunner(const std::filesystem::path& path, const RecordedOptions& options)
    : archive_(path), size_(common_rows(archive_)) {
  for (const std::string& name : options.outputs.empty() ? archive_.names() : options.outputs)
    outputs_.push_back(spec_of(archive_, name));
}

std::vector<WatchedTensor> RecordedRunner::watched() const {
  std::vector<WatchedTensor> tensors;
  for (const std::string& name : archive_.names()) tensors.push_back({name});
  return tensors;
}

std::vector<Tensor> RecordedRunner::run(std::span<const Tensor>, const Observer& observer) {
  if (next_ < 0 || next_ >= size_)
    throw Error(
        fmt::format("[recorded] {}: holds {} sample{}, number {} was asked for; record more "
                    "or pass --samples {}",
                    archive_.subject(), size_, size_ == 1 ? "" : "s", next_, size_));
  std::vector<Tensor> results(outputs_.size());
  for (const std::string& name : archive_.names()) {
    const auto output = std::ranges::find(outputs_, name, &TensorSpec::name);
    if (output == outputs_.end() && !observer) continue;
    Tensor tensor = unstack(archive_.read(name, next_, 1));
    if (observer) observer({tensor});
    if (output != outputs_.end()) results[output - outputs_.begin()] = std::move(tensor);
  }
  ++next_;
  return results;
}

}  // namespace vernier
