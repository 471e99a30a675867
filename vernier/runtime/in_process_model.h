#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "vernier/runtime/host_runner.h"

namespace vernier {

// Opens a model of this process. The options are those of a host: what is watched, in which
// precision it runs, and an example of its inputs.
using OpenInProcess = std::function<std::unique_ptr<Runner>(const HostOptions&)>;

// A model of this process, which is a host's wherever its path() is given, while this lives.
class NamedModel {
 public:
  NamedModel(const std::string& name, OpenInProcess open);
  ~NamedModel();
  NamedModel(const NamedModel&) = delete;
  NamedModel& operator=(const NamedModel&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// What opens the model that a NamedModel named; empty if the path is no such name.
OpenInProcess find_model(const std::filesystem::path& path);

}  // namespace vernier
