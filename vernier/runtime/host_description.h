#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "vernier/runtime/host_runner.h"

namespace vernier {

// What a host says of its model: the message "description" of docs/host-protocol.md.
struct HostDescription {
  std::vector<TensorSpec> inputs, outputs;
  std::vector<WatchedTensor> watched;
  std::vector<UnwatchedTensor> unwatched;
  std::vector<std::string> warnings;
  std::vector<std::pair<std::string, std::string>> versions;
  bool outputs_are_positional = false;
  std::optional<std::vector<TensorSpec>> parameters = {};  // nothing where the host does not say
};

// The message "describe", without its inputs.
std::string describe_request(const HostOptions& options);

// Throws Error, which names the source, for what is no description or of another precision.
HostDescription read_description(const std::string& message, const HostOptions& options);

}  // namespace vernier
