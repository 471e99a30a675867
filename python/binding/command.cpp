#include "python/binding/command.h"

#include <nanobind/stl/string.h>

#include <atomic>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "cli/program.h"
#include "vernier/runtime/stopping.h"

namespace nb = nanobind;

namespace vernier::binding {
namespace {

constexpr std::chrono::milliseconds signal_interval{50};

// A command and the thread that runs it.
class Work {
 public:
  Work(const std::vector<std::string>& arguments, nb::handle progress) : progress_(progress) {
    session_.result = [this](const HtmlResult& result) {
      report_.document = *result.document;
      report_.json = result.json;
      report_.graph = result.graph;
      report_.detail = result.detail;
    };
    session_.message = [this](const std::string& text) { report_.messages.push_back(text); };
    session_.progress = [this](const std::string& label, std::int64_t done, std::int64_t total) {
      return tell(label, done, total) && !stopped_;
    };
    thread_ = std::thread([this, arguments] { run(arguments); });
  }
  ~Work() { thread_.join(); }

  bool wait() {
    std::unique_lock lock(mutex_);
    return ended_.wait_for(lock, signal_interval, [&] { return has_ended_; });
  }
  void stop() {
    stopped_ = true;
    runs_->stop();
  }

  // Call it after the end and with the GIL, which a stored Python exception needs.
  Report result() {
    if (raised_) throw std::move(*raised_);
    if (thrown_) std::rethrow_exception(thrown_);
    return std::move(report_);
  }

 private:
  void run(const std::vector<std::string>& arguments) {
    const RunGroupScope scope(runs_);
    try {
      report_.exit_code = cli::run_program(arguments, session_);
    } catch (...) {
      thrown_ = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
    ended_.notify_all();
  }

  bool tell(const std::string& label, std::int64_t done, std::int64_t total) {
    if (progress_.is_none() || stopped_) return true;
    const nb::gil_scoped_acquire gil;
    try {
      const nb::object answer = progress_(label, done, total);
      return answer.is_none() || nb::cast<bool>(nb::bool_(answer));
    } catch (nb::python_error& error) {
      raised_.emplace(std::move(error));
      return false;
    }
  }

  nb::handle progress_;
  cli::Session session_;
  std::atomic<bool> stopped_ = false;
  std::shared_ptr<RunGroup> runs_ = std::make_shared<RunGroup>();  // this command's only
  Report report_;
  std::optional<nb::python_error> raised_;
  std::exception_ptr thrown_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool has_ended_ = false;
  std::thread thread_;
};

}  // namespace

Report run_command(const std::vector<std::string>& arguments, nb::object progress,
                   const std::vector<const PythonModel*>& models) {
  std::optional<nb::python_error> interrupt;
  Work work(arguments, progress);
  bool ended = false;
  while (!ended) {
    {
      const nb::gil_scoped_release release;
      ended = work.wait();
    }
    if (!ended && !interrupt && PyErr_CheckSignals() != 0) interrupt.emplace();
    if (ended || !interrupt) continue;
    work.stop();
    for (const PythonModel* model : models) model->interrupt();
  }
  if (interrupt) throw std::move(*interrupt);
  return work.result();
}

}  // namespace vernier::binding
