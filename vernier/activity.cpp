#include "vernier/activity.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "vernier/error.h"

namespace vernier {
namespace {

ActivityPage* used_page = nullptr;
thread_local ActivitySlot* slot_of_thread = nullptr;

template <std::size_t Size>
void store(std::array<char, Size>& target, std::string_view text) {
  const std::size_t count = std::min(text.size(), Size - 1);
  std::memcpy(target.data(), text.data(), count);
  target[count] = '\0';
}

// raise() runs the default action: SA_RESETHAND has removed this handler.
void note_crash(int signal) {
  pid_t none = 0;
  used_page->crashed.compare_exchange_strong(none, gettid());
  raise(signal);
}

// Leaves signals alone that something else, such as a sanitizer, already handles.
void note_crashes() {
  for (const int signal : {SIGSEGV, SIGFPE, SIGBUS, SIGILL}) {
    struct sigaction action = {};
    if (sigaction(signal, nullptr, &action) != 0 || action.sa_handler != SIG_DFL) continue;
    action.sa_handler = note_crash;
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER | SA_ONSTACK);
    sigaction(signal, &action, nullptr);
  }
}

}  // namespace

SharedActivity::SharedActivity() {
  void* memory = mmap(nullptr, sizeof(ActivityPage), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw Error("[memory] not enough memory to share a page");
  page_ = new (memory) ActivityPage;
}

SharedActivity::~SharedActivity() { munmap(page_, sizeof(ActivityPage)); }

void SharedActivity::clear() { new (page_) ActivityPage; }

void record_activity(ActivityPage& page) {
  used_page = &page;
  note_crashes();
}

ActivityPage* activity_page() { return used_page; }

bool records_nodes() { return used_page && used_page->records_nodes; }

Activity::Activity(ForeignCode code, ForeignWork work, std::string_view model) {
  if (!used_page) return;
  const pid_t thread = gettid();
  for (ActivitySlot& slot : used_page->slots) {
    pid_t none = 0;
    if (!slot.thread.compare_exchange_strong(none, thread)) continue;
    slot.code = code;
    slot.work = work;
    slot.order = ++used_page->begun;
    store(slot.model, model);
    store(slot.node, "");
    store(slot.op, "");
    slot_ = &slot;
    outer_ = slot_of_thread;
    slot_of_thread = slot_;
    return;
  }
}

Activity::~Activity() {
  if (!slot_) return;
  slot_of_thread = outer_;
  slot_->thread = 0;
}

void record_node(std::string_view node, std::string_view op) {
  if (!slot_of_thread) return;
  store(slot_of_thread->node, node);
  store(slot_of_thread->op, op);
}

std::optional<RecordedActivity> last_activity(const ActivityPage& page) {
  const ActivitySlot* last = nullptr;
  const pid_t crashed = page.crashed;
  const auto is_better = [&](const ActivitySlot& slot) {
    if (!last) return true;
    const bool here = slot.thread == crashed, there = last->thread == crashed;
    return here != there ? here : slot.order > last->order;
  };
  for (const ActivitySlot& slot : page.slots)
    if (slot.thread != 0 && is_better(slot)) last = &slot;
  if (!last) return std::nullopt;
  return RecordedActivity{last->code, last->work, last->model.data(), last->node.data(),
                          last->op.data()};
}

}  // namespace vernier
