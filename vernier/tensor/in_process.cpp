#include "vernier/tensor/in_process.h"

#include <fmt/format.h>

#include <atomic>
#include <map>
#include <mutex>

#include "vernier/error.h"

namespace vernier {
namespace {

constexpr std::string_view prefix = "process:";

std::mutex mutex;
std::map<std::filesystem::path, std::shared_ptr<const InProcessArrays>> named;

}  // namespace

std::filesystem::path in_process_path(const std::string& name) {
  static std::atomic<std::int64_t> next = 0;
  return fmt::format("{}{}/{}", prefix, ++next, name);
}

bool is_in_process(const std::filesystem::path& path) { return path.string().starts_with(prefix); }

NamedArrays::NamedArrays(const std::string& name, InProcessArrays arrays)
    : path_(in_process_path(name)) {
  if (arrays.samples.empty() || arrays.samples[0].empty())
    throw Error(fmt::format("[arrays] {}: there are none; give at least one sample", name));
  for (const TensorView& array : arrays.samples[0])
    if (arrays.stacked && array.shape.empty())
      throw Error(fmt::format(
          "[arrays] {}: '{}' is a scalar, expected samples along a leading axis; stack them", name,
          array.name));
  const std::lock_guard lock(mutex);
  named[path_] = std::make_shared<const InProcessArrays>(std::move(arrays));
}

NamedArrays::~NamedArrays() {
  const std::lock_guard lock(mutex);
  named.erase(path_);
}

std::shared_ptr<const InProcessArrays> find_arrays(const std::filesystem::path& path) {
  const std::lock_guard lock(mutex);
  const auto found = named.find(path);
  return found == named.end() ? nullptr : found->second;
}

}  // namespace vernier
