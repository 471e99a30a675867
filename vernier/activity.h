#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace vernier {

// What a process does in code that is not ours, in memory that it shares with the process that
// supervises it: a process that dies there has said where.

enum class ForeignCode { onnxruntime, torch };
enum class ForeignWork { loading, running };

// What one thread does. The strings are cut off where they do not fit.
struct ActivitySlot {
  std::atomic<pid_t> thread = 0;  // 0: free
  ForeignCode code = ForeignCode::onnxruntime;
  ForeignWork work = ForeignWork::loading;
  std::uint64_t order = 0;  // of its beginning
  std::array<char, 512> model{};
  std::array<char, 256> node{};
  std::array<char, 64> op{};
};

struct ActivityPage {
  std::array<ActivitySlot, 8> slots;
  std::atomic<std::uint64_t> begun = 0;
  std::atomic<pid_t> crashed = 0;  // the thread that a signal ended
  // Every node is recorded before it is run, at the price of a run without its usual speed.
  bool records_nodes = false;
  // Limits that whoever supervises the process keeps; 0: none.
  std::atomic<double> timeout_seconds = 0;
  std::atomic<double> memory_gigabytes = 0;
  std::atomic<bool> answered = false;  // a result or an error is being written
};

// A page that processes forked from this one write and this one reads.
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

// From now on this process records what it does in the page, also which of its threads a signal
// ends. Until then nothing is recorded.
void record_activity(ActivityPage& page);

// The page in use; null: nothing is recorded.
ActivityPage* activity_page();

// Whether each node is to be recorded before it runs.
bool records_nodes();

// While one lives, its thread works for that model in foreign code.
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

// The node that the activity of this thread is about to run.
void record_node(std::string_view node, std::string_view op);

struct RecordedActivity {
  ForeignCode code;
  ForeignWork work;
  std::string model;
  std::string node, op;  // empty: not known
};

// What the process did last: the thread that was ended, else the activity that began last.
std::optional<RecordedActivity> last_activity(const ActivityPage& page);

}  // namespace vernier
