#include "vernier/data/prefetch.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

namespace vernier {

struct Prefetch::State {
  // One example in progress: waiting for a thread, taken by one, or prepared. Kept in a deque,
  // whose references stay valid while elements are added and removed at its ends.
  struct Slot {
    Example example;
    bool taken = false;
    std::optional<Prepared> prepared;
  };

  State(Dataset& dataset_, Prepare prepare_, Options options_)
      : dataset(dataset_), prepare(std::move(prepare_)), options(std::move(options_)) {
    threads.emplace_back([this] { guarded([this] { read_all(); }); });
    for (int i = 0; i < std::max(1, options.threads); ++i)
      threads.emplace_back([this] { guarded([this] { prepare_all(); }); });
  }
  ~State() {
    stop();
    threads.clear();  // joins the threads before other members are destroyed
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void stop() {
    const std::lock_guard lock(mutex);
    stopped = true;
    changed.notify_all();
  }

  // The first exception stops all threads; next() rethrows it.
  template <typename Work>
  void guarded(Work work) {
    try {
      work();
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
      changed.notify_all();
    }
  }

  bool ended() const { return stopped || failure; }

  void read_all() {
    const std::span<const std::int64_t> positions = options.positions;
    const auto window = static_cast<std::size_t>(std::max<std::int64_t>(1, dataset.window()));
    for (std::size_t at = 0; at < positions.size(); at += window) {
      auto examples = dataset.read(positions.subspan(at, std::min(window, positions.size() - at)));
      for (Example& example : examples)
        if (!put(std::move(example))) return;
    }
    const std::lock_guard lock(mutex);
    all_read = true;
    changed.notify_all();
  }

  bool put(Example example) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return ended() || slots.size() < options.ahead; });
    if (ended()) return false;
    slots.push_back({std::move(example)});
    changed.notify_all();
    return true;
  }

  Slot* first_waiting() {
    const auto found = std::ranges::find(slots, false, &Slot::taken);
    return found == slots.end() ? nullptr : &*found;
  }

  void prepare_all() {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [this] { return ended() || all_read || first_waiting() != nullptr; });
      Slot* slot = first_waiting();
      if (ended() || slot == nullptr) return;
      slot->taken = true;
      lock.unlock();
      Prepared prepared = prepare(std::move(slot->example));
      lock.lock();
      slot->prepared = std::move(prepared);
      changed.notify_all();
    }
  }

  std::optional<Prepared> next() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] {
      return failure || (slots.empty() ? all_read : slots.front().prepared.has_value());
    });
    if (failure) std::rethrow_exception(failure);
    if (slots.empty()) return std::nullopt;
    std::optional<Prepared> prepared = std::move(slots.front().prepared);
    slots.pop_front();
    changed.notify_all();
    return prepared;
  }

  Dataset& dataset;
  Prepare prepare;
  Options options;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Slot> slots;
  bool all_read = false;
  bool stopped = false;
  std::exception_ptr failure;
  std::vector<std::jthread> threads;
};

Prefetch::Prefetch(Dataset& dataset, Prepare prepare, Options options)
    : state_(std::make_unique<State>(dataset, std::move(prepare), std::move(options))) {}
Prefetch::~Prefetch() = default;

std::optional<Prepared> Prefetch::next() { return state_->next(); }

}  // namespace vernier
