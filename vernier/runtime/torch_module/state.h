#pragma once

#include <memory>

namespace torch::jit {
struct Graph;
struct Module;
}  // namespace torch::jit

namespace vernier {

// The attributes that running the graph changes, as they were in the file: each run starts from
// them, so that a sample gives the same result alone and among others. Parameters are not kept.
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
