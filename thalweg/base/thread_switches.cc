// SPDX-License-Identifier: Apache-2.0
#include "thalweg/base/thread_switches.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <string>
#include <string_view>

#include "thalweg/base/str_cat.h"
#include "thalweg/base/thread_owner.h"

namespace thalweg {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kRoom = 2 * kPage;  // a power of two, as the kernel asks

// PERF_RECORD_SWITCH with the time alone.
struct SwitchRecord {
  perf_event_header header;
  uint64_t nanos;
};
constexpr uint64_t kRecord = sizeof(SwitchRecord);
static_assert(kRoom % kRecord == 0);
// What the kernel may write over while older records are copied.
constexpr uint64_t kSpare = 64 * kRecord;

Status Refused(std::string_view call, int error) {
  const std::string what =
      StrCat("the kernel tells no thread switches (", call, ": ", std::strerror(error), ")");
  switch (error) {
    case EACCES:
    case EPERM:
      return PermissionDenied(what, ": kernel.perf_event_paranoid above 2, a container's seccomp ",
                              "profile or the limit of locked memory (ulimit -l) forbids it");
    case EINVAL:
    case ENOENT:
    case ENOSYS:
    case EOPNOTSUPP:
      return Unimplemented(what);
    default:
      return ResourceExhausted(what);
  }
}

}  // namespace

ThreadSwitches::ThreadSwitches() {
  perf_event_attr attributes = {};
  attributes.size = sizeof(attributes);
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_DUMMY;
  attributes.disabled = 1;
  attributes.exclude_kernel = 1;  // what every user may ask for
  attributes.context_switch = 1;
  attributes.sample_id_all = 1;
  attributes.sample_type = PERF_SAMPLE_TIME;
  attributes.use_clockid = 1;
  attributes.clockid = CLOCK_MONOTONIC;
  fd_ = static_cast<int>(
      ::syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
  if (fd_ < 0) {
    status_ = Refused("perf_event_open", errno);
    return;
  }
  // Mapped to be read alone: the kernel then writes over what is oldest, and waits for no reader.
  memory_ = ::mmap(nullptr, kPage + kRoom, PROT_READ, MAP_SHARED, fd_, 0);
  if (memory_ == MAP_FAILED) {
    memory_ = nullptr;
    status_ = Refused("mmap", errno);
    ::close(fd_);
    fd_ = -1;
  }
}

ThreadSwitches::~ThreadSwitches() {
  if (memory_ != nullptr && owner_.IsThisProcess()) ::munmap(memory_, kPage + kRoom);
  if (fd_ >= 0) ::close(fd_);
}

ThreadSwitches& ThreadSwitches::OfThisThread() {
  thread_local ThreadSwitches switches;
  return switches;
}

uint64_t ThreadSwitches::Written() const {
  // What is mapped is not there in a process that was forked.
  if (memory_ == nullptr || !owner_.IsThisProcess()) return 0;
  const auto& page = *static_cast<const perf_event_mmap_page*>(memory_);
  return std::atomic_ref<const __u64>(page.data_head).load(std::memory_order_acquire);
}

void ThreadSwitches::Read(uint64_t from, uint64_t to, std::vector<ThreadSwitch>* into) const {
  const char* const records = static_cast<const char*>(memory_) + kPage;
  const size_t first = into->size();
  if (to - from > kRoom - kSpare) from = to - (kRoom - kSpare);
  int64_t out = 0;
  bool is_preempted = false;
  for (uint64_t at = from; at < to; at += kRecord) {
    SwitchRecord record;
    std::memcpy(&record, records + at % kRoom, kRecord);
    if (record.header.type != PERF_RECORD_SWITCH || record.header.size != kRecord) return;
    const auto nanos = static_cast<int64_t>(record.nanos);
    if ((record.header.misc & PERF_RECORD_MISC_SWITCH_OUT) != 0) {
      out = nanos;
      is_preempted = (record.header.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) != 0;
    } else if (out != 0) {
      into->push_back({.out_nanos = out, .in_nanos = nanos, .is_preempted = is_preempted});
      out = 0;
    }
  }
  // Records are written while the thread is switched, perhaps between the copies above.
  if (Written() - from > kRoom) into->resize(first);
}

void ThreadSwitches::SetCounting(bool counts) {
  // A process that was forked has the descriptor, and what it says of it goes for the other's.
  if (fd_ < 0 || counts_ == counts || !owner_.IsThisProcess()) return;
  counts_ = counts;
  ::ioctl(fd_, counts ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

void ThreadSwitches::EndCounting() {
  lingers_ = false;
  OfThisThread().SetCounting(false);
}

ThreadSwitches::Watch::Watch() : of_(OfThisThread()), read_(of_.Written()) {
  lingers_ = false;
  ++of_.watches_;
  of_.SetCounting(true);
}

ThreadSwitches::Watch::~Watch() {
  if (--of_.watches_ == 0) lingers_ = of_.counts_;
}

bool ThreadSwitches::Watch::HasNews() const { return of_.Written() != read_; }

void ThreadSwitches::Watch::Take(std::vector<ThreadSwitch>* into) {
  const uint64_t written = of_.Written();
  of_.Read(read_, written, into);
  read_ = written;
}

}  // namespace thalweg
