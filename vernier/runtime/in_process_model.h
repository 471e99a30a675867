#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "vernier/runtime/host_runner.h"

namespace vernier {

// Opens a model that lives in this process, with the options of a host: what to watch, the
// precision, and example inputs.
using OpenInProcess = std::function<std::unique_ptr<Runner>(const HostOptions&)>;

// Registers a model of this process under path() for the lifetime of the object. The path can be
// given wherever a host source can.
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

// The function that opens the NamedModel with this path; empty if there is none.
OpenInProcess find_model(const std::filesystem::path& path);

}  // namespace vernier
