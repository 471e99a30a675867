#pragma once

#include <exception>
#include <filesystem>
#include <string>

namespace torch::jit {
struct Module;
}

namespace vernier {

// The one line of a libtorch exception that says what went wrong.
std::string what_failed(const std::exception& error);

// The module, on the CPU and in eval mode. Throws Error for what is not TorchScript.
torch::jit::Module load_torchscript(const std::filesystem::path& path);

}  // namespace vernier
