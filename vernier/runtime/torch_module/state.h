#pragma once

#include <memory>

namespace torch::jit {
struct Graph;
struct Module;
}  // namespace torch::jit

namespace vernier {

// The values in the file of the attributes that a run changes. Every run starts from them, so that
// the result of a sample does not depend on other samples. Parameters are not saved.
class ModuleState {
 public:
  ModuleState(const torch::jit::Module& module, torch::jit::Graph& graph);
  ~ModuleState();

  void restore() const;

 private:
  struct Saved;
  std::unique_ptr<Saved> saved_;
};

}  // namespace vernier
