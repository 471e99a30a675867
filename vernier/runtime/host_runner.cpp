#include "vernier/runtime/host_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "vernier/error.h"
#include "vernier/exporting/python.h"
#include "vernier/json.h"
#include "vernier/runtime/host_channel.h"
#include "vernier/runtime/host_description.h"
#include "vernier/runtime/in_process_model.h"
#include "vernier/version.h"

namespace vernier {
namespace {

using nlohmann::json;

constexpr int protocol_version = 1;
constexpr std::string_view command_prefix = "host:";
constexpr std::array<std::string_view, 4> prefixes = {
    "hf:", "torchvision:", "timm:", command_prefix};

bool is_identifier(std::string_view text) {
  const auto may_follow = [](unsigned char c) { return std::isalnum(c) || c == '_'; };
  return !text.empty() && !std::isdigit(static_cast<unsigned char>(text[0])) &&
         std::ranges::all_of(text, may_follow);
}

// FILE.py:FUNCTION or package.module:FUNCTION
bool is_function(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || !is_identifier(text.substr(colon + 1))) return false;
  std::string_view place = text.substr(0, colon);
  if (place.ends_with(".py")) return place.size() > 3;
  for (std::size_t dot; (dot = place.find('.')) != std::string_view::npos;) {
    if (!is_identifier(place.substr(0, dot))) return false;
    place.remove_prefix(dot + 1);
  }
  return is_identifier(place);
}

// A host:COMMAND is run by the shell; every other source is run by our host in Python.
std::vector<std::string> command_of(const HostOptions& options) {
  if (options.source.starts_with(command_prefix))
    return {"sh", "-c", "exec " + options.source.substr(command_prefix.size())};
  const std::string package = (python_packages("[host]") / "vernier_host").string();
  std::vector<std::string> command = {find_python("[host]", options.python), "-B", package,
                                      options.source};
  if (!options.task.empty()) command.push_back("--task=" + options.task);
  if (!options.weights.empty()) command.push_back("--weights=" + options.weights);
  command.push_back(fmt::format("--seed={}", options.seed));
  if (options.open_attention) command.push_back("--open-attention");
  return command;
}

json input_messages(std::span<const Tensor> inputs) {
  json messages = json::array();
  for (const Tensor& input : inputs)
    messages.push_back({{"name", input.name},
                        {"dtype", dtype_name(input.dtype)},
                        {"shape", input.shape},
                        {"bytes", input.bytes.size()}});
  return messages;
}

std::string_view watch_name(HostWatch watch) {
  constexpr std::array<std::string_view, 3> names = {"nothing", "layers", "operators"};
  return names[static_cast<std::size_t>(watch)];
}

DType dtype_of(const json& entry) {
  const auto dtype = parse_dtype(entry.at("dtype").get<std::string>());
  if (!dtype) throw std::invalid_argument("no dtype is called " + json_line(entry.at("dtype")));
  return *dtype;
}

TensorSpec spec_of(const json& entry) {
  TensorSpec spec{
      .name = entry.at("name"), .dtype = dtype_of(entry), .ranked = entry.contains("shape")};
  if (spec.ranked)
    for (const std::int64_t size : entry["shape"]) spec.shape.push_back({.size = size});
  return spec;
}

WatchedTensor watched_of(const json& entry) {
  return {.name = entry.at("name"),
          .type = entry.value("type", ""),
          .constants = entry.value("constants", std::map<std::string, double>()),
          .settings = entry.value("settings", std::map<std::string, std::string>()),
          .module = entry.value("module", ""),
          .call = entry.value("call", 0),
          .source = entry.value("source", "")};
}

UnwatchedTensor unwatched_of(const json& entry) {
  return {entry.at("name"), entry.at("reason"), entry.value("type", "")};
}

template <typename T>
std::vector<T> list_of(const json& message, const char* key, T (*read)(const json&)) {
  std::vector<T> list;
  if (const auto found = message.find(key); found != message.end())
    for (const json& entry : *found) list.push_back(read(entry));
  return list;
}

[[noreturn]] void fail(const std::string& subject, const std::string& what) {
  throw Error(fmt::format("[host] {}: {}", subject, what));
}

template <typename Read>
void understanding(const std::string& subject, const Read& read) {
  try {
    read();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    fail(subject, fmt::format("its host sent a wrong message ({})", json_reason(error)));
  }
}

json describe_message(const HostOptions& options) {
  return {{"type", "describe"},
          {"watch", watch_name(options.watch)},
          {"precision", dtype_name(options.precision)},
          {"threads", options.threads},
          {"outputs", options.output_names}};
}

HostDescription description_of(const json& message, const HostOptions& options) {
  HostDescription description;
  understanding(options.source, [&] {
    description = {.inputs = list_of(message, "inputs", spec_of),
                   .outputs = list_of(message, "outputs", spec_of),
                   .watched = list_of(message, "layers", watched_of),
                   .unwatched = list_of(message, "unwatched", unwatched_of),
                   .warnings = message.value("warnings", std::vector<std::string>()),
                   .outputs_are_positional = message.value("outputs_are_positional", false)};
    const json versions = message.value("versions", json::object());
    for (const auto& [name, version] : versions.items())
      description.versions.emplace_back(name, version.get<std::string>());
    if (message.contains("parameters"))
      description.parameters = list_of(message, "parameters", spec_of);
  });
  for (const TensorSpec& output : description.outputs)
    if (options.precision == DType::f64 && is_float(output.dtype) && output.dtype != DType::f64)
      fail(options.source,
           fmt::format("its output '{}' is {} though it is to run in float64; leave --truth out",
                       output.name, dtype_name(output.dtype)));
  return description;
}

class HostRunner final : public DescribedRunner {
 public:
  explicit HostRunner(const HostOptions& options)
      : subject_(options.source),
        channel_({.subject = options.source,
                  .command = command_of(options),
                  .timeout = options.timeout,
                  .ring_bytes = options.ring_bytes}) {
    request({{"type", "hello"}, {"protocol", protocol_version}, {"vernier", version()}});
    const json hello = answer("hello");
    if (const json found = hello.value("protocol", json()); found != protocol_version)
      fail(fmt::format("speaks version {} of the protocol, and this is version {}",
                       json_line(found), protocol_version));
    describe(options);
  }

  std::vector<Tensor> run(std::span<const Tensor> inputs, const Observer& observer) override {
    request({{"type", "run"}, {"observe", observer != nullptr}}, inputs);
    std::vector<Tensor> outputs;
    receive_tensors([&](const std::string& type, const TensorView& tensor) {
      if (type == "output")
        outputs.push_back(copy(tensor));
      else if (observer)
        observer({tensor});
    });
    if (outputs.size() != model_.outputs.size())
      fail(fmt::format("returns {} outputs, and {} when it was described", outputs.size(),
                       model_.outputs.size()));
    return outputs;
  }

  void visit_parameters(const TensorVisitor& visit) const override {
    request({{"type", "parameters"}});
    receive_tensors([&](const std::string&, const TensorView& tensor) { visit(tensor); });
  }
  // Filters, because a host that does not support `names` sends all parameters.
  void visit_parameters_named(std::span<const std::string> names,
                              const TensorVisitor& visit) const override {
    if (names.empty()) return;
    request({{"type", "parameters"}, {"names", names}});
    receive_tensors([&](const std::string&, const TensorView& tensor) {
      if (std::ranges::find(names, tensor.name) != names.end()) visit(tensor);
    });
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { vernier::fail(subject_, what); }

  void request(json message, std::span<const Tensor> inputs = {}) const {
    if (!inputs.empty()) message["inputs"] = input_messages(inputs);
    channel_.send_line(json_line(message));
    for (const Tensor& input : inputs) channel_.send(input.bytes);
  }

  // The host's next message. Throws Error if it is an error message.
  json receive() const {
    const std::string line = channel_.receive_line();
    json message = try_parse_json<json>(line);
    if (!message.is_object() || !message.value("type", json()).is_string())
      fail(fmt::format("its host sent what is no message: {}", line.substr(0, 80)));
    if (message["type"] == "error") {
      const json text = message.value("message", json());
      fail(text.is_string() ? text.get<std::string>() : "an error without a message");
    }
    return message;
  }

  json answer(const char* type) const {
    json message = receive();
    if (message["type"] != type)
      fail(fmt::format("its host sent {} in place of {}", json_line(message["type"]), type));
    return message;
  }

  void describe(const HostOptions& options) {
    request(describe_message(options), options.example);
    model_ = description_of(answer("description"), options);
  }

  // Reads tensors until the message "done". After an exception from `visit` the remaining tensors
  // are read and ignored, then the exception is rethrown.
  template <typename Visit>
  void receive_tensors(const Visit& visit) const {
    std::exception_ptr thrown;
    for (json message = receive(); message["type"] != "done"; message = receive()) {
      understanding(subject_, [&] {
        const std::string type = message["type"], name = message.at("name");
        const DType dtype = dtype_of(message);
        const Shape shape = message.at("shape");
        const std::span<const std::byte> bytes =
            bytes_of(message, byte_size(dtype, element_count(shape)));
        try {
          if (!thrown) visit(type, TensorView{name, dtype, shape, bytes});
        } catch (...) {
          thrown = std::current_exception();
        }
      });
      channel_.release();
      gathered_ = {};  // frees the memory: the tensor may have been a whole embedding
    }
    if (thrown) std::rethrow_exception(thrown);
  }

  // The tensor's bytes: a view into the ring if they are there in one piece; else copied into
  // gathered_ from the socket or from several pieces in the ring.
  std::span<const std::byte> bytes_of(const json& message, std::int64_t expected) const {
    const std::size_t count = message.at("bytes");
    if (count != static_cast<std::size_t>(expected))
      fail(fmt::format("its host sent {} bytes for '{}', which takes {}", count,
                       message["name"].get<std::string>(), expected));
    const std::size_t ready = message.value("ring", std::size_t{0});
    if (ready == count && count > 0) return channel_.take_from_ring(count);
    gathered_.resize(count);
    if (ready == 0) {
      channel_.receive(gathered_);
      return gathered_;
    }
    std::size_t filled = 0;
    for (std::size_t part = ready;; part = answer("bytes").at("ring")) {
      if (part > count - filled) fail("its host sent more bytes than it said");
      std::memcpy(gathered_.data() + filled, channel_.take_from_ring(part).data(), part);
      channel_.release();
      filled += part;
      if (filled == count) return gathered_;
    }
  }

  std::string subject_;
  mutable HostChannel channel_;
  mutable std::vector<std::byte> gathered_;
};

}  // namespace

bool is_host_source(const std::string& text) {
  const auto has_prefix = [&](std::string_view prefix) { return text.starts_with(prefix); };
  return std::ranges::any_of(prefixes, has_prefix) || text.ends_with(".pt2") || is_function(text) ||
         find_model(text);
}

HostOptions described_by(HostOptions options, std::vector<Tensor> example,
                         const std::vector<TensorSpec>& candidate_outputs) {
  options.example = std::move(example);
  for (const TensorSpec& output : candidate_outputs) options.output_names.push_back(output.name);
  return options;
}

std::string describe_request(const HostOptions& options) {
  return json_line(describe_message(options));
}

HostDescription read_description(const std::string& message, const HostOptions& options) {
  return description_of(try_parse_json<json>(message), options);
}

std::unique_ptr<Runner> open_host_runner(const HostOptions& options) {
  if (const OpenInProcess open = find_model(options.source)) return open(options);
  return std::make_unique<HostRunner>(options);
}

}  // namespace vernier
