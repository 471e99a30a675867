#include "vernier/runtime/in_process_model.h"

#include <map>
#include <mutex>

#include "vernier/tensor/in_process.h"

namespace vernier {
namespace {

std::mutex mutex;
std::map<std::filesystem::path, OpenInProcess> named;

}  // namespace

NamedModel::NamedModel(const std::string& name, OpenInProcess open) : path_(in_process_path(name)) {
  const std::lock_guard lock(mutex);
  named[path_] = std::move(open);
}

NamedModel::~NamedModel() {
  const std::lock_guard lock(mutex);
  named.erase(path_);
}

OpenInProcess find_model(const std::filesystem::path& path) {
  const std::lock_guard lock(mutex);
  const auto found = named.find(path);
  return found == named.end() ? OpenInProcess() : found->second;
}

}  // namespace vernier
