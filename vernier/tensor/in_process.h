#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "vernier/tensor/tensor.h"

namespace vernier {

// Things of this process that are named by a path, wherever a file's would be given:
// "process:7/inputs". The last part is what reports call them.
std::filesystem::path in_process_path(const std::string& name);
bool is_in_process(const std::filesystem::path& path);

// Arrays of this process as a SampleArchive: the memory is read where it is.
struct InProcessArrays {
  // A sample's arrays each; or, where they are stacked, one entry whose leading axes are the
  // samples.
  std::vector<std::vector<TensorView>> samples;
  bool stacked = false;
};

// Arrays that can be opened by path() while this lives. Their memory must live as long.
class NamedArrays {
 public:
  // Throws Error if there are none, or if a stacked one is a scalar.
  NamedArrays(const std::string& name, InProcessArrays arrays);
  ~NamedArrays();
  NamedArrays(const NamedArrays&) = delete;
  NamedArrays& operator=(const NamedArrays&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Those that a NamedArrays named; null if the path is no such name.
std::shared_ptr<const InProcessArrays> find_arrays(const std::filesystem::path& path);

}  // namespace vernier
