#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "vernier/runtime/in_process_model.h"

namespace vernier::binding {

// The Python side of a model. Its Python objects are used only with the GIL.
struct PythonHost {
  nanobind::object make;
  nanobind::object failure;  // the exception that ended the last run; null if none did
  std::mutex mutex;
  std::set<unsigned long> threads = {};  // threads that run it now
};

// Registers a Python model under path(), which can be given like the path of a model. `make` is
// called each time the model is opened and returns a host: an object with describe(request,
// inputs), run(inputs, show, give) and parameters(give), as in python/vernier_host. Must outlive
// the commands that are given its path.
class PythonModel {
 public:
  PythonModel(const std::string& name, nanobind::object make);
  ~PythonModel();

  std::string path() const { return named_->path().string(); }
  // The exception that ended the last run, or None.
  nanobind::object failure() const;
  // Raises KeyboardInterrupt in every thread that runs it.
  void interrupt() const;

 private:
  std::shared_ptr<PythonHost> host_;
  std::unique_ptr<NamedModel> named_;
};

}  // namespace vernier::binding
