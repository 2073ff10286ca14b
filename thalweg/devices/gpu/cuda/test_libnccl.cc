// SPDX-License-Identifier: Apache-2.0
#include "thalweg/devices/gpu/cuda/test_libnccl.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#define NCCL extern "C" FAKE_CUDA_EXPORT int

namespace {

using Pointer = unsigned long long;
constexpr int kInternalError = 3, kInvalidArgument = 4, kInvalidUsage = 5;

struct State {
  mutable std::mutex mutex;
  std::map<std::string, int> fails;
  std::vector<std::string> log;
  int async_error = 0, live = 0, aborts = 0;
};
State& Now() {
  static auto* const state = new State;
  return *state;
}
int Begin(const char* function) {
  const std::lock_guard lock(Now().mutex);
  const auto fail = Now().fails.find(function);
  if (fail == Now().fails.end()) return 0;
  const int status = fail->second;
  Now().fails.erase(fail);
  return status;
}

// The cards that were made together. What they wait for.
struct Group {
  std::vector<int> cards;
  std::mutex mutex;
  std::condition_variable changed;
  bool is_aborted = false;
};
struct Communicator {
  std::shared_ptr<Group> group;
  int rank = 0;
};

// What one rank asks for.
struct Part {
  Communicator* communicator = nullptr;
  std::string name;
  const void* from = nullptr;
  void* to = nullptr;
  size_t count = 0;
  int type = 0, merge = 0, sender = 0;
  void* stream = nullptr;
};
thread_local int depth = 0;
thread_local std::vector<Part> pending;
thread_local int refused = 0;

size_t SizeOf(int type) {
  constexpr size_t kSizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
  return kSizes[type];
}

template <class T>
T Merged(int merge, T a, T b) {
  switch (merge) {
    case 1:
      return a * b;
    case 2:
      return std::max(a, b);
    case 3:
      return std::min(a, b);
    default:
      return a + b;
  }
}
template <class T>
void Reduce(const std::vector<const char*>& from, size_t first, size_t count, int merge, char* to) {
  for (size_t i = 0; i < count; ++i) {
    T sum{};
    for (size_t rank = 0; rank < from.size(); ++rank) {
      T x{};
      std::memcpy(&x, from[rank] + (first + i) * sizeof(T), sizeof(T));
      sum = rank == 0 ? x : Merged(merge, sum, x);
    }
    if (merge == 4) sum = sum / static_cast<T>(from.size());
    std::memcpy(to + i * sizeof(T), &sum, sizeof(T));
  }
}
int ReduceOf(int type, const std::vector<const char*>& from, size_t first, size_t count, int merge,
             char* to) {
  switch (type) {
    case 2:
      Reduce<int32_t>(from, first, count, merge, to);
      return 0;
    case 4:
      Reduce<int64_t>(from, first, count, merge, to);
      return 0;
    case 7:
      Reduce<float>(from, first, count, merge, to);
      return 0;
    case 8:
      Reduce<double>(from, first, count, merge, to);
      return 0;
    default:
      return kInternalError;  // of the tests: no test has them
  }
}

// One operation of a group on its way.
struct Meeting {
  std::shared_ptr<Group> group;
  std::vector<Part> parts;  // by rank
  std::vector<const char*> from;
  size_t arrived = 0, ready = 0;

  // In a stream's thread: whether all have come so far. A card that breaks goes away, and none
  // waits for ever, so that a test of what hangs ends.
  bool AwaitAll(const size_t& count, int card) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    std::unique_lock lock(group->mutex);
    while (count < parts.size()) {
      if (std::chrono::steady_clock::now() > end) group->is_aborted = true;
      if (group->is_aborted || FakeCuda::Get().IsBroken(card)) return false;
      group->changed.wait_for(lock, std::chrono::milliseconds(1));
    }
    return !group->is_aborted;
  }
  void Count(size_t* count) {
    const std::lock_guard lock(group->mutex);
    ++*count;
    group->changed.notify_all();
  }
  void Run(size_t rank) {
    const int card = group->cards[rank];
    if (FakeCuda::Get().IsBroken(card)) return;
    Count(&arrived);
    if (!AwaitAll(arrived, card)) return;
    const Part& part = parts[rank];
    const size_t bytes = part.count * SizeOf(part.type);
    auto* const to = FakeCuda::Get().BytesAt(reinterpret_cast<Pointer>(part.to), 1);
    if (part.name == "AllReduce") {
      ReduceOf(part.type, from, 0, part.count, part.merge, to);
    } else if (part.name == "ReduceScatter") {
      ReduceOf(part.type, from, rank * part.count, part.count, part.merge, to);
    } else if (part.name == "AllGather") {
      for (size_t r = 0; r < from.size(); ++r) std::memcpy(to + r * bytes, from[r], bytes);
    } else if (part.sender != static_cast<int>(rank)) {
      std::memcpy(to, from[static_cast<size_t>(part.sender)], bytes);
    }
    Count(&ready);
    AwaitAll(ready, card);
  }
};

size_t BytesIn(const Part& part, size_t ranks) {
  return part.count * SizeOf(part.type) * (part.name == "ReduceScatter" ? ranks : 1);
}
size_t BytesOut(const Part& part, size_t ranks) {
  return part.count * SizeOf(part.type) * (part.name == "AllGather" ? ranks : 1);
}

bool IsOn(int card, const void* address, size_t bytes) {
  const auto at = reinterpret_cast<Pointer>(address);
  return FakeCuda::Get().CardOfAddress(at) == card && FakeCuda::Get().BytesAt(at, bytes) != nullptr;
}

int Queue(std::vector<Part> parts) {
  const auto group = parts.front().communicator->group;
  const size_t ranks = group->cards.size();
  if (parts.size() != ranks) return kInvalidUsage;
  std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
    return a.communicator->rank < b.communicator->rank;
  });
  auto meeting = std::make_shared<Meeting>();
  meeting->group = group;
  std::string line = parts.front().name;
  for (size_t rank = 0; rank < ranks; ++rank) {
    const Part& part = parts[rank];
    const int card = group->cards[rank];
    if (part.communicator->rank != static_cast<int>(rank) || part.name != parts[0].name ||
        part.count != parts[0].count || part.type != parts[0].type) {
      return kInvalidUsage;
    }
    const bool brings = part.name != "Broadcast" || part.sender == static_cast<int>(rank);
    if (FakeCuda::Get().CardOfStream(part.stream) != card ||
        (brings && !IsOn(card, part.from, BytesIn(part, ranks))) ||
        !IsOn(card, part.to, BytesOut(part, ranks))) {
      return kInvalidArgument;
    }
    meeting->from.push_back(FakeCuda::Get().BytesAt(reinterpret_cast<Pointer>(part.from), 1));
    line += " " + std::to_string(card);
  }
  meeting->parts = parts;
  {
    const std::lock_guard lock(Now().mutex);
    Now().log.push_back(line);
  }
  for (size_t rank = 0; rank < ranks; ++rank) {
    FakeCuda::Get().Queue(parts[rank].stream, [meeting, rank] { meeting->Run(rank); });
    std::this_thread::yield();  // who puts something in between, may
  }
  return 0;
}

int Add(const char* name, Part part) {
  if (const int status = Begin((std::string("nccl") + name).c_str()); status != 0) {
    return refused = status;
  }
  if (depth == 0) return kInvalidUsage;
  for (const Part& other : pending) {
    if (other.communicator == part.communicator) return refused = kInvalidUsage;
  }
  part.name = name;
  pending.push_back(std::move(part));
  return 0;
}

}  // namespace

FakeNccl& FakeNccl::Get() {
  static FakeNccl fake;
  return fake;
}
void FakeNccl::Fail(const std::string& function, int status) {
  const std::lock_guard lock(Now().mutex);
  Now().fails[function] = status;
}
void FakeNccl::SetAsyncError(int status) {
  const std::lock_guard lock(Now().mutex);
  Now().async_error = status;
}
void FakeNccl::Mend() {
  const std::lock_guard lock(Now().mutex);
  Now().fails.clear();
  Now().log.clear();
  Now().async_error = Now().aborts = 0;
}
std::vector<std::string> FakeNccl::log() const {
  const std::lock_guard lock(Now().mutex);
  return Now().log;
}
int FakeNccl::live() const {
  const std::lock_guard lock(Now().mutex);
  return Now().live;
}
int FakeNccl::aborts() const {
  const std::lock_guard lock(Now().mutex);
  return Now().aborts;
}

NCCL ncclGetVersion(int* version) {
  *version = 22304;
  return 0;
}
extern "C" FAKE_CUDA_EXPORT const char* ncclGetErrorString(int status) {
  return status == 2   ? "unhandled system error (run with NCCL_DEBUG=INFO for details)"
         : status == 6 ? "remote process exited"
                       : nullptr;
}
NCCL ncclCommInitAll(void** communicators, int count, const int* devices) {
  if (const int status = Begin("ncclCommInitAll"); status != 0) return status;
  const auto group = std::make_shared<Group>();
  std::string line = "Group";
  for (int i = 0; i < count; ++i) {
    if (std::find(devices, devices + i, devices[i]) != devices + i) return kInvalidArgument;
    group->cards.push_back(devices[i]);
    line += " " + std::to_string(devices[i]);
  }
  for (int i = 0; i < count; ++i) communicators[i] = new Communicator{group, i};
  const std::lock_guard lock(Now().mutex);
  Now().live += count;
  Now().log.push_back(line);
  return 0;
}
NCCL ncclCommDestroy(void* communicator) {
  delete static_cast<Communicator*>(communicator);
  const std::lock_guard lock(Now().mutex);
  --Now().live;
  return 0;
}
NCCL ncclCommAbort(void* communicator) {
  const std::unique_ptr<Communicator> own(static_cast<Communicator*>(communicator));
  {
    const std::lock_guard lock(own->group->mutex);
    own->group->is_aborted = true;
    own->group->changed.notify_all();
  }
  const std::lock_guard lock(Now().mutex);
  --Now().live;
  ++Now().aborts;
  return 0;
}
NCCL ncclCommGetAsyncError(void*, int* status) {
  const std::lock_guard lock(Now().mutex);
  *status = Now().async_error;
  return 0;
}
NCCL ncclGroupStart() {
  if (const int status = Begin("ncclGroupStart"); status != 0) return status;
  ++depth;
  return 0;
}
NCCL ncclGroupEnd() {
  if (depth == 0) return kInvalidUsage;
  --depth;
  std::vector<Part> parts = std::move(pending);
  pending.clear();
  const int before = std::exchange(refused, 0);
  if (const int status = Begin("ncclGroupEnd"); status != 0) return status;
  if (before != 0 || parts.empty()) return before;
  return Queue(std::move(parts));
}
NCCL ncclAllReduce(const void* from, void* to, size_t count, int type, int merge, void* own,
                   void* stream) {
  return Add("AllReduce",
             {static_cast<Communicator*>(own), "", from, to, count, type, merge, 0, stream});
}
NCCL ncclReduceScatter(const void* from, void* to, size_t count, int type, int merge, void* own,
                       void* stream) {
  return Add("ReduceScatter",
             {static_cast<Communicator*>(own), "", from, to, count, type, merge, 0, stream});
}
NCCL ncclAllGather(const void* from, void* to, size_t count, int type, void* own, void* stream) {
  return Add("AllGather",
             {static_cast<Communicator*>(own), "", from, to, count, type, 0, 0, stream});
}
NCCL ncclBroadcast(const void* from, void* to, size_t count, int type, int sender, void* own,
                   void* stream) {
  return Add("Broadcast",
             {static_cast<Communicator*>(own), "", from, to, count, type, 0, sender, stream});
}
