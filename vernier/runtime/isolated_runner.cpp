#include "vernier/runtime/isolated_runner.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <new>
#include <optional>
#include <utility>

#include "vernier/activity.h"
#include "vernier/error.h"
#include "vernier/runtime/host_description.h"
#include "vernier/runtime/host_process.h"
#include "vernier/runtime/tensor_stream.h"

namespace vernier {
namespace {

// Message kinds.
constexpr char input_spec = 'i', output_spec = 'o', watched_tensor = 'w', unwatched_tensor = 'u';
constexpr char warning = '!', version_of = 'v', ready = 'R', error = 'E';
constexpr char seek_to = 's', input = 'I', run_plain = 'r', run_observed = 'b';
constexpr char observed = 'T', output = 'O';

constexpr std::string_view memory_tag = "[memory]";  // prefix of out-of-memory errors

std::vector<std::string> texts_of(const TensorSpec& spec) {
  std::vector<std::string> texts = {spec.name, std::to_string(static_cast<int>(spec.dtype)),
                                    spec.ranked ? "1" : ""};
  for (const Dim& dim : spec.shape) {
    texts.push_back(std::to_string(dim.size));
    texts.push_back(dim.symbol);
  }
  return texts;
}

TensorSpec spec_of(const std::vector<std::string>& texts) {
  TensorSpec spec{.name = texts[0],
                  .dtype = static_cast<DType>(std::stoi(texts[1])),
                  .ranked = !texts[2].empty()};
  for (std::size_t i = 3; i + 1 < texts.size(); i += 2)
    spec.shape.push_back({std::stoll(texts[i]), texts[i + 1]});
  return spec;
}

void describe(const Runner& runner, TensorStream& stream) {
  for (const TensorSpec& spec : runner.inputs()) stream.send(input_spec, texts_of(spec));
  for (const TensorSpec& spec : runner.outputs()) stream.send(output_spec, texts_of(spec));
  for (const WatchedTensor& tensor : runner.watched())
    stream.send(watched_tensor, {tensor.name, tensor.type});
  for (const UnwatchedTensor& tensor : runner.unwatched())
    stream.send(unwatched_tensor, {tensor.name, tensor.reason, tensor.type});
  for (const std::string& text : runner.warnings()) stream.send(warning, {text});
  for (const auto& [name, number] : runner.versions()) stream.send(version_of, {name, number});
  stream.send(ready, {runner.outputs_are_positional() ? "1" : ""});
}

// Opens the runner and serves requests until the parent closes the socket.
void serve(const OpenRunner& open, TensorStream& stream) {
  const std::unique_ptr<Runner> runner = open();
  describe(*runner, stream);
  std::vector<Tensor> inputs;
  while (auto request = stream.receive()) {
    if (request->kind == seek_to) runner->seek(std::stoll(request->texts[0]));
    if (request->kind == input) inputs.push_back(std::move(*request->tensor));
    if (request->kind != run_plain && request->kind != run_observed) continue;
    Observer observer;
    if (request->kind == run_observed)
      observer = [&](const ObservedTensor& tensor) { stream.send_tensor(observed, tensor); };
    try {
      for (const Tensor& tensor : runner->run(inputs, observer)) stream.send_tensor(output, tensor);
      stream.send(ready);
    } catch (const Error& thrown) {
      stream.send(error, {thrown.what()});
    }
    inputs.clear();
  }
}

[[noreturn]] void run_child(const OpenRunner& open, int socket, pid_t parent, ActivityPage& page) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);
  // The parent handles interrupts, and kills this process if it has to.
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) signal(number, SIG_IGN);
  record_activity(page);
  TensorStream stream(socket);
  try {
    serve(open, stream);
  } catch (const std::bad_alloc&) {
    stream.send(error, {std::string(memory_tag) + " there is not enough memory for the model"});
  } catch (const std::exception& thrown) {
    stream.send(error, {thrown.what()});
  }
  _exit(0);
}

// A forked process that serves a runner; killed with the object.
class ServingProcess {
 public:
  ServingProcess(const OpenRunner& open, ActivityPage& page) {
    std::array<int, 2> ends;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
      throw Error("[process] no socket can be made; close other programs");
    socket_ = Descriptor(ends[0]);
    const Descriptor there(ends[1]);
    const pid_t parent = getpid();
    child_ = fork();
    if (child_ == 0) {
      close(ends[0]);
      run_child(open, ends[1], parent, page);
    }
    if (child_ < 0) throw Error("[process] no process can be started; close other programs");
  }
  ~ServingProcess() { end(); }
  ServingProcess(const ServingProcess&) = delete;
  ServingProcess& operator=(const ServingProcess&) = delete;

  TensorStream stream() const { return TensorStream(socket_.get()); }

  // Kills the process if it still runs; returns its wait() status.
  int end() {
    if (child_ > 0) kill(child_, SIGKILL);
    return wait();
  }
  // Waits for a process that has closed its socket and so is about to end; returns its wait()
  // status.
  int wait() {
    while (child_ > 0 && waitpid(child_, &status_, 0) < 0 && errno == EINTR) {
    }
    child_ = -1;
    return status_;
  }

 private:
  Descriptor socket_;
  pid_t child_ = -1;
  int status_ = 0;
};

// The reverse of describe().
void add(HostDescription& model, char kind, const std::vector<std::string>& texts) {
  if (kind == input_spec) model.inputs.push_back(spec_of(texts));
  if (kind == output_spec) model.outputs.push_back(spec_of(texts));
  if (kind == watched_tensor) model.watched.push_back({.name = texts[0], .type = texts[1]});
  if (kind == unwatched_tensor) model.unwatched.push_back({texts[0], texts[1], texts[2]});
  if (kind == warning) model.warnings.push_back(texts[0]);
  if (kind == version_of) model.versions.emplace_back(texts[0], texts[1]);
  if (kind == ready) model.outputs_are_positional = !texts[0].empty();
}

class IsolatedRunner final : public DescribedRunner {
 public:
  IsolatedRunner(OpenRunner open, const Isolation& isolation)
      : open_(std::move(open)), isolation_(isolation) {
    try {
      model_ = start();
    } catch (const ProcessEnded& ended) {
      report(ended);
      throw;
    }
  }

  void seek(std::int64_t sample) override { sample_ = sample; }

  std::vector<Tensor> run(std::span<const Tensor> inputs, const Observer& observer) override {
    try {
      if (!process_) start();
      return request(inputs, observer);
    } catch (const ProcessEnded& first) {
      process_.reset();
      const bool crashed = first.cause() == ProcessEnded::Cause::crashed;
      const ProcessEnded ended = crashed ? with_node(inputs, first) : first;
      report(ended);
      throw ended;
    }
  }

 private:
  void report(const ProcessEnded& ended) const {
    if (isolation_.ended) isolation_.ended(ended);
  }

  HostDescription start(bool records_nodes = false) {
    activity_.clear();
    activity_.page().records_nodes = records_nodes;
    process_ = std::make_unique<ServingProcess>(open_, activity_.page());
    TensorStream stream = process_->stream();
    const TensorStream::Deadline deadline = deadline_from_now();
    HostDescription model;
    while (true) {
      const StreamMessage message = receive(stream, deadline);
      add(model, message.kind, message.texts);
      if (message.kind == ready) return model;
    }
  }

  TensorStream::Deadline deadline_from_now() const {
    using namespace std::chrono;
    if (isolation_.timeout_seconds <= 0) return std::nullopt;
    return steady_clock::now() +
           duration_cast<steady_clock::duration>(duration<double>(isolation_.timeout_seconds));
  }

  // The next message. Throws Error if the child reports an error, and ProcessEnded if the child
  // ended or the deadline passed.
  StreamMessage receive(TensorStream& stream, const TensorStream::Deadline& deadline) {
    std::optional<StreamMessage> message = stream.receive(deadline);
    if (message && message->kind == error) {
      if (message->texts[0].starts_with(memory_tag))
        throw ProcessEnded(ProcessEnded::Cause::out_of_memory, message->texts[0]);
      throw Error(message->texts[0]);
    }
    if (message) return *std::move(message);
    if (stream.state() == TensorStream::State::late) {
      process_->end();
      throw timeout_error(isolation_.timeout_seconds, activity_.page());
    }
    throw crash_error(process_->wait(), activity_.page());
  }

  // Runs the inputs in the child. After an exception from the observer the remaining messages are
  // read and ignored, then the exception is rethrown.
  std::vector<Tensor> request(std::span<const Tensor> inputs, const Observer& observer) {
    TensorStream stream = process_->stream();
    if (sample_) stream.send(seek_to, {std::to_string(*std::exchange(sample_, std::nullopt))});
    for (const Tensor& tensor : inputs) stream.send_tensor(input, tensor);
    stream.send(observer ? run_observed : run_plain);
    const TensorStream::Deadline deadline = deadline_from_now();
    std::vector<Tensor> outputs;
    std::exception_ptr thrown;
    while (true) {
      StreamMessage message = receive(stream, deadline);
      if (message.kind == ready) break;
      if (message.kind == output) outputs.push_back(*std::move(message.tensor));
      if (message.kind != observed || thrown) continue;
      try {
        observer({message.tensor->view()});
      } catch (...) {
        thrown = std::current_exception();
      }
    }
    if (thrown) std::rethrow_exception(thrown);
    return outputs;
  }

  // Runs the inputs that crashed the child again while recording nodes: the error then names the
  // node. Returns `first` if the second run does not crash.
  ProcessEnded with_node(std::span<const Tensor> inputs, const ProcessEnded& first) {
    ProcessEnded ended = first;
    try {
      start(true);
      request(inputs, {});
    } catch (const ProcessEnded& second) {
      if (second.cause() == ProcessEnded::Cause::crashed) ended = second;
    } catch (const Error&) {
      // The first end is the one that is told.
    }
    process_.reset();
    return ended;
  }

  OpenRunner open_;
  Isolation isolation_;
  SharedActivity activity_;
  std::unique_ptr<ServingProcess> process_;  // null after a crash, until the next run
  std::optional<std::int64_t> sample_;       // for the next run; nullopt if seek() was not called
};

}  // namespace

std::unique_ptr<Runner> open_isolated(OpenRunner open, const Isolation& isolation) {
  return std::make_unique<IsolatedRunner>(std::move(open), isolation);
}

}  // namespace vernier
