#pragma once

#include <exception>
#include <filesystem>
#include <string>

namespace torch::jit {
struct Module;
}

namespace vernier {

// The line of a libtorch exception that states the cause.
std::string what_failed(const std::exception& error);

// Loads the module on the CPU, in eval mode. Throws Error if the file is not TorchScript.
torch::jit::Module load_torchscript(const std::filesystem::path& path);

}  // namespace vernier
