#pragma once

#include <filesystem>
#include <string>

namespace vernier {

// A file of tests/fixtures.
inline std::filesystem::path fixture(const std::string& name) {
  return std::filesystem::path(VERNIER_FIXTURES) / name;
}

// The small networks of tests/fixtures/mnist, and the digits that they read.
inline const std::string mnist = VERNIER_FIXTURES "/mnist/";
inline const std::string mnist_cnn = mnist + "mnist_cnn.onnx",
                         mnist_int8 = mnist + "mnist_cnn.int8.onnx";
inline const std::string mnist_inputs = mnist + "mnist_inputs.npz";
inline const std::string mnist_labelled = mnist + "mnist_labelled.npz";

}  // namespace vernier
