// Stands in for a PyTorch module that another version of vernier, or another compiler, has built.

extern "C" const char* vernier_torch_module_build();
extern "C" const char* vernier_torch_module_build() {
  return "vernier 0.0.0, compiler of another house";
}
