#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "vernier/runtime/in_process_model.h"

namespace vernier::binding {

// The Python side of a model. Its objects are touched with the GIL only.
struct PythonHost {
  nanobind::object make;
  nanobind::object failure;  // the exception that ended the last run, if one did
  std::mutex mutex;
  std::set<unsigned long> threads = {};  // that run it now
};

// A model in Python, given where a path of one would be. `make` gives a host whenever it is opened:
// an object with describe(request, inputs), run(inputs, show, give) and parameters(give), as those
// of python/vernier_host. Must live until the commands that were given its path have ended.
class PythonModel {
 public:
  PythonModel(const std::string& name, nanobind::object make);
  ~PythonModel();

  std::string path() const { return named_->path().string(); }
  // The exception that ended it, or None.
  nanobind::object failure() const;
  // Raises KeyboardInterrupt in every thread that runs it.
  void interrupt() const;

 private:
  std::shared_ptr<PythonHost> host_;
  std::unique_ptr<NamedModel> named_;
};

}  // namespace vernier::binding
