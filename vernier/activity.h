#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace vernier {

// A process records what it does in third-party code (ONNX Runtime, PyTorch) in memory that it
// shares with its supervisor. If the process dies there, the supervisor can say where.

enum class ForeignCode { onnxruntime, torch };
enum class ForeignWork { loading, running };

// What one thread is doing. Strings that do not fit are truncated.
struct ActivitySlot {
  std::atomic<pid_t> thread = 0;  // thread id; 0 if the slot is free
  ForeignCode code = ForeignCode::onnxruntime;
  ForeignWork work = ForeignWork::loading;
  std::uint64_t order = 0;  // position among all activities, by start
  std::array<char, 512> model{};
  std::array<char, 256> node{};
  std::array<char, 64> op{};
};

struct ActivityPage {
  std::array<ActivitySlot, 8> slots;
  std::atomic<std::uint64_t> begun = 0;
  std::atomic<pid_t> crashed = 0;  // id of the thread that a fatal signal ended; 0 if none
  // Whether every node is recorded before it runs, which makes the run slower.
  bool records_nodes = false;
  // Limits that the supervisor enforces; 0 means no limit.
  std::atomic<double> timeout_seconds = 0;
  std::atomic<double> memory_gigabytes = 0;
  std::atomic<bool> answered = false;  // set once a result or an error is being written
};

// A page that this process shares with its forks: they write it, this process reads it.
class SharedActivity {
 public:
  SharedActivity();
  ~SharedActivity();
  SharedActivity(const SharedActivity&) = delete;
  SharedActivity& operator=(const SharedActivity&) = delete;

  ActivityPage& page() { return *page_; }
  const ActivityPage& page() const { return *page_; }
  void clear();

 private:
  ActivityPage* page_;
};

// Makes this process record its activities in the page, and which of its threads a fatal signal
// ends. Before this call nothing is recorded.
void record_activity(ActivityPage& page);

// The page in use; null if nothing is recorded.
ActivityPage* activity_page();

// Whether each node must be recorded before it runs.
bool records_nodes();

// For its lifetime, marks the current thread as running third-party code for `model`.
class Activity {
 public:
  Activity(ForeignCode code, ForeignWork work, std::string_view model);
  ~Activity();
  Activity(const Activity&) = delete;
  Activity& operator=(const Activity&) = delete;

 private:
  ActivitySlot* slot_ = nullptr;
  ActivitySlot* outer_ = nullptr;
};

// Records the node that this thread is about to run in its current activity.
void record_node(std::string_view node, std::string_view op);

struct RecordedActivity {
  ForeignCode code;
  ForeignWork work;
  std::string model;
  std::string node, op;  // empty if unknown
};

// The activity of the thread that a signal ended, else the activity that started last; nullopt if
// none was recorded.
std::optional<RecordedActivity> last_activity(const ActivityPage& page);

}  // namespace vernier
