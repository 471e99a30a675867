#include "vernier/runtime/crash.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>

#include <cstring>
#include <string>

namespace vernier {
namespace {

using Cause = ProcessEnded::Cause;

std::string signal_name(int signal) {
  switch (signal) {
    case SIGSEGV: return "segmentation fault";
    case SIGFPE: return "arithmetic fault: an integer division that has no result";
    case SIGBUS: return "bus error: a file that is mapped was cut off";
    case SIGILL: return "illegal instruction";
    case SIGABRT: return "abort";
    default: return strsignal(signal);
  }
}

std::string_view library_name(ForeignCode code) {
  return code == ForeignCode::torch ? "PyTorch" : "ONNX Runtime";
}

// "ran node '/fc/MatMul' (MatMul)"
std::string work_of(const RecordedActivity& activity) {
  if (activity.work == ForeignWork::loading) return "loaded the model";
  if (activity.op.empty()) return "ran the model";
  return fmt::format("ran node '{}' ({})", activity.node, activity.op);
}

std::string remedy(const RecordedActivity& activity, int signal) {
  if (signal == SIGBUS) return "restore the model's files, and leave them alone while it runs";
  if (activity.code == ForeignCode::torch)
    return "trace the model again, or run it in Python with --reference FILE.py:FUNCTION";
  if (activity.work == ForeignWork::loading)
    return "export the model again, or choose another ONNX Runtime with --onnxruntime";
  return fmt::format("{}, or choose another ONNX Runtime with --onnxruntime",
                     activity.op.empty() ? "feed other inputs (--input-data, --shape)"
                                         : "replace that node, feed other inputs");
}

// " while ONNX Runtime was running model.onnx"
std::string circumstance(const ActivityPage& page) {
  const auto activity = last_activity(page);
  if (!activity) return "";
  return fmt::format(" while {} was {} {}", library_name(activity->code),
                     activity->work == ForeignWork::loading ? "loading" : "running",
                     activity->model);
}

}  // namespace

bool is_crash(int status) {
  return WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL && WTERMSIG(status) != SIGTERM &&
         WTERMSIG(status) != SIGINT && WTERMSIG(status) != SIGHUP && WTERMSIG(status) != SIGPIPE;
}

ProcessEnded crash_error(int status, const ActivityPage& page) {
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : SIGABRT;
  if (signal == SIGKILL)
    return {Cause::out_of_memory,
            fmt::format("[memory] the process was killed{}, most likely by the system for lack of "
                        "memory; use fewer --threads, a smaller --batch or --shape, or a machine "
                        "with more memory",
                        circumstance(page))};
  const auto activity = last_activity(page);
  if (!activity && signal == SIGBUS)
    return {Cause::crashed,
            "[file] a file was cut off while it was read; restore it, and leave it alone while it "
            "is in use"};
  if (!activity)
    return {Cause::crashed,
            fmt::format("[vernier] crashed ({}) in its own code; please report the command and "
                        "the files that it was given",
                        signal_name(signal))};
  return {Cause::crashed,
          fmt::format("[{}] {}: {} crashed ({}) while it {}; {}",
                      activity->code == ForeignCode::torch ? "torch" : "onnxruntime",
                      activity->model, library_name(activity->code), signal_name(signal),
                      work_of(*activity), remedy(*activity, signal))};
}

ProcessEnded timeout_error(double seconds, const ActivityPage& page) {
  return {Cause::timed_out,
          fmt::format("[timeout] not done after {:g} s{}; raise --timeout, or give it less to do",
                      seconds, circumstance(page))};
}

ProcessEnded memory_error(double gigabytes, const ActivityPage& page) {
  return {Cause::out_of_memory,
          fmt::format("[memory] more than {:g} GB were in use{}; raise --memory-limit, or use a "
                      "smaller --batch or --shape",
                      gigabytes, circumstance(page))};
}

}  // namespace vernier
