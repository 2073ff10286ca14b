// SPDX-License-Identifier: Apache-2.0
#include "thalweg/devices/gpu/cuda/test_libcuda.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "thalweg/devices/gpu/cuda/test_card_kernels.h"

namespace {

using Pointer = unsigned long long;
constexpr int kInvalidValue = 1, kInvalidContext = 201, kInvalidImage = 200, kNotFound = 500,
              kNotReady = 600;
constexpr Pointer kFirstAddress = 0x7000000000ull;
constexpr size_t kMemory = size_t{256} << 20;
constexpr int kFirstDevice = 7, kMostCards = 3;

// Whether what was recorded has come.
struct Flag {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_set = false;
  void Set() {
    const std::lock_guard lock(mutex);
    is_set = true;
    changed.notify_all();
  }
  void Wait() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return is_set; });
  }
};

struct Stream;

// Its address stands for its context.
struct Card {
  size_t used = 0;
  Stream* first = nullptr;
  int broken = 0;
  bool reaches_other = false;
};

struct Stream {
  Card* card;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> works;
  bool is_held = false, ends = false, works_now = false, waits = false;
  std::thread thread;

  explicit Stream(Card* of) : card(of), thread([this] { Loop(); }) {}
  ~Stream() {
    {
      const std::lock_guard lock(mutex);
      ends = true;
      is_held = false;
      changed.notify_all();
    }
    thread.join();
  }
  void Add(std::function<void()> work) {
    const std::lock_guard lock(mutex);
    works.push_back(std::move(work));
    changed.notify_all();
  }
  // In its thread.
  void WaitFor(Flag& flag) {
    SetWaits(true);
    flag.Wait();
    SetWaits(false);
  }
  void SetWaits(bool now) {
    const std::lock_guard lock(mutex);
    waits = now;
    changed.notify_all();
  }
  bool Settle() {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, std::chrono::seconds(60),
                            [this] { return waits || (!works_now && (is_held || works.empty())); });
  }
  bool IsIdle() {
    const std::lock_guard lock(mutex);
    return works.empty() && !works_now;
  }
  void Hold(bool held) {
    const std::lock_guard lock(mutex);
    is_held = held;
    changed.notify_all();
  }
  void Loop() {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [this] { return (ends || !works.empty()) && !is_held; });
      if (works.empty()) return;
      const std::function<void()> work = std::move(works.front());
      works.pop_front();
      works_now = true;
      lock.unlock();
      work();
      lock.lock();
      works_now = false;
      changed.notify_all();
    }
  }
};

struct Event {
  Card* card;
  std::shared_ptr<Flag> recorded;
};
struct Module {
  std::string text;  // "": a real image, all of whose names are there
  std::set<std::string> names;
};

struct Failure {
  int error = 0;
  bool for_good = false;
  int but_first = 0;
};

struct State {
  mutable std::mutex mutex;
  std::array<Card, kMostCards> cards;
  int visible_cards = 1;
  std::map<Pointer, std::vector<char>> blocks;
  std::map<Pointer, Card*> homes;  // of blocks
  Pointer next = kFirstAddress;
  std::map<char*, size_t> host_blocks;
  std::map<std::string, Failure> fails;
  int objects = 0, contexts = 0, launches = 0, pageable = 0, between_cards = 0,
      ended_between_cards = 0;
};

State& Now() {
  static auto* const state = new State;
  return *state;
}
thread_local std::vector<void*> current;
Card* CurrentCard() { return static_cast<Card*>(current.back()); }
// In whose memory an address is; null for none.
Card* HomeOf(Pointer address) {
  const std::lock_guard lock(Now().mutex);
  auto block = Now().homes.upper_bound(address);
  return block == Now().homes.begin() ? nullptr : (--block)->second;
}
int BrokenBy(const Card* card) {
  const std::lock_guard lock(Now().mutex);
  return card->broken;
}

// What a call gives before it does anything.
int Refuses(const char* function, bool needs_context = true) {
  State& now = Now();
  const std::lock_guard lock(now.mutex);
  if (const auto fail = now.fails.find(function); fail != now.fails.end()) {
    const Failure failure = fail->second;
    if (failure.but_first > 0) {
      --fail->second.but_first;
    } else {
      if (!failure.for_good) now.fails.erase(fail);
      return failure.error;
    }
  }
  if (needs_context && current.empty()) return kInvalidContext;
  return 0;
}
int RefusesWork(const char* function) {
  if (const int error = Refuses(function); error != 0) return error;
  return BrokenBy(CurrentCard());
}
void Count(int more) {
  const std::lock_guard lock(Now().mutex);
  Now().objects += more;
}
bool IsPinned(const void* host, size_t size) {
  const State& now = Now();
  const std::lock_guard lock(now.mutex);
  return std::any_of(now.host_blocks.begin(), now.host_blocks.end(), [=](const auto& block) {
    return host >= block.first &&
           static_cast<const char*>(host) + size <= block.first + block.second;
  });
}

// The kernels that the tests launch.
struct Twice {
  Pointer x;
  uint64_t first_x;
  Pointer y;
  uint64_t first_y;
  uint32_t n;
};
std::function<void()> WorkOf(const std::string& name, void** parameters) {
  if (name != "twice") return CardKernelWork(name, parameters);
  const Twice p = {*static_cast<Pointer*>(parameters[0]), *static_cast<uint64_t*>(parameters[1]),
                   *static_cast<Pointer*>(parameters[2]), *static_cast<uint64_t*>(parameters[3]),
                   *static_cast<uint32_t*>(parameters[4])};
  return [p] {
    const size_t bytes = p.n * sizeof(float);
    const char* const from = FakeCuda::Get().BytesAt(p.x + p.first_x * sizeof(float), bytes);
    char* const to = FakeCuda::Get().BytesAt(p.y + p.first_y * sizeof(float), bytes);
    for (uint32_t i = 0; from != nullptr && to != nullptr && i < p.n; ++i) {
      float x = 0;
      std::memcpy(&x, from + i * sizeof(x), sizeof(x));
      x *= 2;
      std::memcpy(to + i * sizeof(x), &x, sizeof(x));
    }
  };
}

int Copy(const char* function, void* stream, const void* host, Pointer device, size_t size,
         bool to_device) {
  if (const int error = RefusesWork(function); error != 0) return error;
  char* const there = FakeCuda::Get().BytesAt(device, size);
  if (there == nullptr) return kInvalidValue;
  if (!IsPinned(host, size)) {
    const std::lock_guard lock(Now().mutex);
    ++Now().pageable;
  }
  static_cast<Stream*>(stream)->Add([=, card = static_cast<Stream*>(stream)->card] {
    if (BrokenBy(card) != 0) return;
    if (to_device) {
      std::memcpy(there, host, size);
    } else {
      std::memcpy(const_cast<void*>(host), there, size);
    }
  });
  return 0;
}

}  // namespace

FakeCuda& FakeCuda::Get() {
  static FakeCuda fake;
  return fake;
}
void FakeCuda::Fail(const std::string& function, int error, bool for_good, int but_first) {
  const std::lock_guard lock(Now().mutex);
  Now().fails[function] = {error, for_good, but_first};
}
void FakeCuda::Break(int error, int card) {
  const std::lock_guard lock(Now().mutex);
  Now().cards.at(static_cast<size_t>(card)).broken = error;
}
void FakeCuda::Mend() {
  for (int card = 0; card < kMostCards; ++card) {
    Hold(false, card);
    Break(0, card);
  }
  const std::lock_guard lock(Now().mutex);
  Now().visible_cards = 1;
  Now().fails.clear();
}
void FakeCuda::Hold(bool held, int card) {
  const std::lock_guard lock(Now().mutex);
  Stream* const first = Now().cards.at(static_cast<size_t>(card)).first;
  if (first != nullptr) first->Hold(held);
}
bool FakeCuda::Settle(int card) {
  Stream* first = nullptr;
  {
    const std::lock_guard lock(Now().mutex);
    first = Now().cards.at(static_cast<size_t>(card)).first;
  }
  return first->Settle();
}
void FakeCuda::SetCards(int cards) {
  const std::lock_guard lock(Now().mutex);
  Now().visible_cards = cards;
}
int FakeCuda::copies_between_cards() const {
  const std::lock_guard lock(Now().mutex);
  return Now().between_cards;
}
int FakeCuda::ended_copies_between_cards() const {
  const std::lock_guard lock(Now().mutex);
  return Now().ended_between_cards;
}
bool FakeCuda::reaches_other(int card) const {
  const std::lock_guard lock(Now().mutex);
  return Now().cards.at(static_cast<size_t>(card)).reaches_other;
}
int FakeCuda::live() const {
  const State& now = Now();
  const std::lock_guard lock(now.mutex);
  return static_cast<int>(now.blocks.size() + now.host_blocks.size()) + now.objects + now.contexts;
}
int FakeCuda::launches() const {
  const std::lock_guard lock(Now().mutex);
  return Now().launches;
}
int FakeCuda::copies_of_pageable_memory() const {
  const std::lock_guard lock(Now().mutex);
  return Now().pageable;
}
char* FakeCuda::BytesAt(unsigned long long address, size_t size) {
  State& now = Now();
  const std::lock_guard lock(now.mutex);
  auto block = now.blocks.upper_bound(address);
  if (block == now.blocks.begin()) return nullptr;
  --block;
  const size_t at = address - block->first;
  return at + size > block->second.size() ? nullptr : block->second.data() + at;
}
int FakeCuda::CardOfAddress(unsigned long long address) {
  const Card* const home = BytesAt(address, 1) == nullptr ? nullptr : HomeOf(address);
  return home == nullptr ? -1 : static_cast<int>(home - Now().cards.data());
}
int FakeCuda::CardOfStream(void* stream) {
  return static_cast<int>(static_cast<Stream*>(stream)->card - Now().cards.data());
}
bool FakeCuda::IsBroken(int card) {
  return BrokenBy(&Now().cards.at(static_cast<size_t>(card))) != 0;
}
void FakeCuda::Queue(void* stream, std::function<void()> work) {
  static_cast<Stream*>(stream)->Add(std::move(work));
}

#define CUDA extern "C" FAKE_CUDA_EXPORT int

CUDA cuInit(unsigned) { return Refuses("cuInit", false); }
// NVRTC asks for tables of the driver's own, and does without.
CUDA cuGetExportTable(const void** table, const void*) {
  *table = nullptr;
  return kNotFound;
}
CUDA cuDriverGetVersion(int* version) {
  *version = 12040;
  return 0;
}
CUDA cuGetErrorName(int error, const char** name) {
  *name = error == 2     ? "CUDA_ERROR_OUT_OF_MEMORY"
          : error == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS"
                         : nullptr;
  return *name == nullptr ? kInvalidValue : 0;
}
CUDA cuDeviceGetCount(int* count) {
  *count = Now().visible_cards;
  return Refuses("cuDeviceGetCount", false);
}
CUDA cuDeviceGet(int* device, int ordinal) {
  *device = kFirstDevice + ordinal;
  return ordinal < Now().visible_cards ? 0 : kInvalidValue;
}
CUDA cuDeviceGetName(char* name, int size, int) {
  std::snprintf(name, static_cast<size_t>(size), "Fake card");
  return 0;
}
CUDA cuDeviceTotalMem_v2(size_t* bytes, int) {
  *bytes = kMemory;
  return 0;
}
CUDA cuDeviceGetAttribute(int* value, int attribute, int) {
  *value = attribute == 16 ? 108 : attribute == 75 ? 8 : attribute == 76 ? 0 : -1;
  return *value < 0 ? kInvalidValue : 0;
}
CUDA cuDevicePrimaryCtxRetain(void** context, int device) {
  if (const int error = Refuses("cuDevicePrimaryCtxRetain", false); error != 0) return error;
  if (device < kFirstDevice || device >= kFirstDevice + kMostCards) return kInvalidValue;
  const std::lock_guard lock(Now().mutex);
  ++Now().contexts;
  Card& card = Now().cards.at(static_cast<size_t>(device - kFirstDevice));
  card.reaches_other = false;
  *context = &card;
  return 0;
}
CUDA cuDevicePrimaryCtxRelease_v2(int) {
  const std::lock_guard lock(Now().mutex);
  --Now().contexts;
  return 0;
}
CUDA cuDeviceCanAccessPeer(int* can, int device, int other) {
  *can = 1;
  return device == other ? kInvalidValue : 0;
}
CUDA cuCtxEnablePeerAccess(void* other, unsigned flags) {
  if (const int error = Refuses("cuCtxEnablePeerAccess"); error != 0) return error;
  if (flags != 0 || other == current.back()) return kInvalidValue;
  const std::lock_guard lock(Now().mutex);
  CurrentCard()->reaches_other = true;
  return 0;
}
CUDA cuCtxPushCurrent_v2(void* context) {
  if (const int error = Refuses("cuCtxPushCurrent_v2", false); error != 0) return error;
  current.push_back(context);
  return 0;
}
CUDA cuCtxPopCurrent_v2(void** context) {
  if (current.empty()) return kInvalidContext;
  *context = current.back();
  current.pop_back();
  return 0;
}
CUDA cuMemAlloc_v2(Pointer* address, size_t size) {
  if (const int error = Refuses("cuMemAlloc_v2"); error != 0) return error;
  State& now = Now();
  const std::lock_guard lock(now.mutex);
  if (CurrentCard()->used + size > kMemory) return 2;
  CurrentCard()->used += size;
  now.homes.emplace(now.next, CurrentCard());
  *address = now.next;
  now.blocks.emplace(now.next, std::vector<char>(size, '\x7f'));
  now.next += (size + 4096) / 512 * 512;
  return 0;
}
CUDA cuMemFree_v2(Pointer address) {
  if (const int error = Refuses("cuMemFree_v2"); error != 0) return error;
  State& now = Now();
  const std::lock_guard lock(now.mutex);
  const auto block = now.blocks.find(address);
  if (block == now.blocks.end()) return kInvalidValue;
  now.homes.at(address)->used -= block->second.size();
  now.homes.erase(address);
  now.blocks.erase(block);
  return 0;
}
CUDA cuMemAllocHost_v2(void** memory, size_t size) {
  if (const int error = Refuses("cuMemAllocHost_v2"); error != 0) return error;
  auto* const block = new char[size];
  const std::lock_guard lock(Now().mutex);
  Now().host_blocks.emplace(block, size);
  *memory = block;
  return 0;
}
CUDA cuMemFreeHost(void* memory) {
  if (const int error = Refuses("cuMemFreeHost"); error != 0) return error;
  const std::lock_guard lock(Now().mutex);
  if (Now().host_blocks.erase(static_cast<char*>(memory)) == 0) return kInvalidValue;
  delete[] static_cast<char*>(memory);
  return 0;
}
CUDA cuMemcpyHtoDAsync_v2(Pointer to, const void* from, size_t size, void* stream) {
  return Copy("cuMemcpyHtoDAsync_v2", stream, from, to, size, true);
}
CUDA cuMemcpyDtoHAsync_v2(void* to, Pointer from, size_t size, void* stream) {
  return Copy("cuMemcpyDtoHAsync_v2", stream, to, from, size, false);
}
CUDA cuMemcpyDtoDAsync_v2(Pointer to, Pointer from, size_t size, void* stream) {
  if (const int error = RefusesWork("cuMemcpyDtoDAsync_v2"); error != 0) return error;
  char* const target = FakeCuda::Get().BytesAt(to, size);
  const char* const source = FakeCuda::Get().BytesAt(from, size);
  if (target == nullptr || source == nullptr) return kInvalidValue;
  static_cast<Stream*>(stream)->Add([=] { std::memmove(target, source, size); });
  return 0;
}
CUDA cuMemcpyPeerAsync(Pointer to, void* to_context, Pointer from, void* from_context, size_t size,
                       void* stream) {
  if (const int error = RefusesWork("cuMemcpyPeerAsync"); error != 0) return error;
  char* const target = FakeCuda::Get().BytesAt(to, size);
  const char* const source = FakeCuda::Get().BytesAt(from, size);
  if (target == nullptr || source == nullptr) return kInvalidValue;
  if (HomeOf(to) != to_context || HomeOf(from) != from_context) return kInvalidValue;
  if (static_cast<Stream*>(stream)->card != current.back()) return kInvalidContext;
  {
    const std::lock_guard lock(Now().mutex);
    ++Now().between_cards;
  }
  static_cast<Stream*>(stream)->Add([=] {
    std::memmove(target, source, size);
    const std::lock_guard lock(Now().mutex);
    ++Now().ended_between_cards;
  });
  return 0;
}
CUDA cuStreamCreate(void** stream, unsigned) {
  if (const int error = Refuses("cuStreamCreate"); error != 0) return error;
  auto* const made = new Stream(CurrentCard());
  *stream = made;
  Count(1);
  const std::lock_guard lock(Now().mutex);
  if (CurrentCard()->first == nullptr) CurrentCard()->first = made;
  return 0;
}
CUDA cuStreamDestroy_v2(void* stream) {
  if (const int error = Refuses("cuStreamDestroy_v2"); error != 0) return error;
  {
    const std::lock_guard lock(Now().mutex);
    Stream*& first = static_cast<Stream*>(stream)->card->first;
    if (first == stream) first = nullptr;
  }
  delete static_cast<Stream*>(stream);
  Count(-1);
  return 0;
}
CUDA cuEventCreate(void** event, unsigned) {
  if (const int error = Refuses("cuEventCreate"); error != 0) return error;
  *event = new Event{CurrentCard(), nullptr};
  Count(1);
  return 0;
}
CUDA cuEventDestroy_v2(void* event) {
  if (const int error = Refuses("cuEventDestroy_v2"); error != 0) return error;
  delete static_cast<Event*>(event);
  Count(-1);
  return 0;
}
CUDA cuEventRecord(void* event, void* stream) {
  if (const int error = RefusesWork("cuEventRecord"); error != 0) return error;
  // An event is recorded on the card that it was made for, and waited for on any.
  if (static_cast<Event*>(event)->card != static_cast<Stream*>(stream)->card) return kInvalidValue;
  const auto flag = std::make_shared<Flag>();
  static_cast<Event*>(event)->recorded = flag;
  static_cast<Stream*>(stream)->Add([flag] { flag->Set(); });
  return 0;
}
CUDA cuEventSynchronize(void* event) {
  if (const int error = Refuses("cuEventSynchronize"); error != 0) return error;
  if (const auto flag = static_cast<Event*>(event)->recorded; flag != nullptr) flag->Wait();
  return BrokenBy(static_cast<Event*>(event)->card);
}
CUDA cuStreamWaitEvent(void* stream, void* event, unsigned) {
  if (const int error = RefusesWork("cuStreamWaitEvent"); error != 0) return error;
  if (const auto flag = static_cast<Event*>(event)->recorded; flag != nullptr) {
    auto* const waiter = static_cast<Stream*>(stream);
    waiter->Add([flag, waiter] { waiter->WaitFor(*flag); });
  }
  return 0;
}
CUDA cuStreamSynchronize(void* stream) {
  if (const int error = Refuses("cuStreamSynchronize"); error != 0) return error;
  const auto flag = std::make_shared<Flag>();
  static_cast<Stream*>(stream)->Add([flag] { flag->Set(); });
  flag->Wait();
  return BrokenBy(static_cast<Stream*>(stream)->card);
}
CUDA cuStreamQuery(void* stream) {
  if (const int error = RefusesWork("cuStreamQuery"); error != 0) return error;
  return static_cast<Stream*>(stream)->IsIdle() ? 0 : kNotReady;
}
CUDA cuModuleLoadData(void** module, const void* image) {
  if (const int error = Refuses("cuModuleLoadData"); error != 0) return error;
  const std::string_view begin(static_cast<const char*>(image), 4);
  if (begin != "fake" &&
      begin !=
          "\x7f"
          "ELF" &&
      begin.substr(0, 2) != "//")
    return kInvalidImage;
  *module = new Module{begin == "fake" ? static_cast<const char*>(image) : "", {}};
  Count(1);
  return 0;
}
CUDA cuModuleUnload(void* module) {
  delete static_cast<Module*>(module);
  Count(-1);
  return 0;
}
CUDA cuModuleGetFunction(void** function, void* module, const char* name) {
  auto* const own = static_cast<Module*>(module);
  if (!own->text.empty() && own->text.find(std::string(name) + "(") == std::string::npos) {
    return kNotFound;
  }
  const std::lock_guard lock(Now().mutex);
  *function = const_cast<std::string*>(&*own->names.insert(CardKernelId(name, own->text)).first);
  return 0;
}
CUDA cuLaunchKernel(void* function, unsigned x, unsigned y, unsigned z, unsigned, unsigned,
                    unsigned, unsigned, void* stream, void** parameters, void**) {
  if (const int error = RefusesWork("cuLaunchKernel"); error != 0) return error;
  if (x == 0 || y == 0 || z == 0 || y > 65535 || z > 65535) return kInvalidValue;
  {
    const std::lock_guard lock(Now().mutex);
    ++Now().launches;
  }
  static_cast<Stream*>(stream)->Add(WorkOf(*static_cast<std::string*>(function), parameters));
  return 0;
}
