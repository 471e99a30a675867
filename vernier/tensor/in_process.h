#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "vernier/tensor/tensor.h"

namespace vernier {

// A unique path such as "process:7/inputs" for an object of this process, to be used where a file's
// path is expected. Reports show the last component.
std::filesystem::path in_process_path(const std::string& name);
bool is_in_process(const std::filesystem::path& path);

// Arrays in memory that can be read as a SampleArchive, without a copy.
struct InProcessArrays {
  // The arrays of each sample; if `stacked`, one entry of arrays whose leading axis is the sample.
  std::vector<std::vector<TensorView>> samples;
  bool stacked = false;
};

// Registers arrays so that they can be opened by path(), until destruction. Their memory must
// outlive this object.
class NamedArrays {
 public:
  // Throws Error if there are no arrays, or if a stacked array is a scalar.
  NamedArrays(const std::string& name, InProcessArrays arrays);
  ~NamedArrays();
  NamedArrays(const NamedArrays&) = delete;
  NamedArrays& operator=(const NamedArrays&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// The arrays that a NamedArrays registered under the path; null if there are none.
std::shared_ptr<const InProcessArrays> find_arrays(const std::filesystem::path& path);

}  // namespace vernier
