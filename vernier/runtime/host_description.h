#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "vernier/runtime/host_runner.h"

namespace vernier {

// What another process says of its model; a host by the message "description" of
// docs/host-protocol.md.
struct HostDescription {
  std::vector<TensorSpec> inputs, outputs;
  std::vector<WatchedTensor> watched;
  std::vector<UnwatchedTensor> unwatched;
  std::vector<std::string> warnings;
  std::vector<std::pair<std::string, std::string>> versions;
  bool outputs_are_positional = false;
  std::optional<std::vector<TensorSpec>> parameters = {};  // nullopt if the host does not list them
};

// The message "describe" without inputs, as one line of JSON.
std::string describe_request(const HostOptions& options);

// Throws Error, naming the source, if the message is not a description, or if outputs are not in
// the requested precision.
HostDescription read_description(const std::string& message, const HostOptions& options);

// A runner whose model is described by a HostDescription.
class DescribedRunner : public Runner {
 public:
  const std::vector<TensorSpec>& inputs() const override { return model_.inputs; }
  const std::vector<TensorSpec>& outputs() const override { return model_.outputs; }
  std::vector<WatchedTensor> watched() const override { return model_.watched; }
  std::vector<UnwatchedTensor> unwatched() const override { return model_.unwatched; }
  std::vector<std::string> warnings() const override { return model_.warnings; }
  std::vector<std::pair<std::string, std::string>> versions() const override {
    return model_.versions;
  }
  bool outputs_are_positional() const override { return model_.outputs_are_positional; }
  std::vector<TensorSpec> parameters() const override {
    return model_.parameters ? *model_.parameters : Runner::parameters();
  }

 protected:
  HostDescription model_;
};

}  // namespace vernier
