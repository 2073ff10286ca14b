// SPDX-License-Identifier: Apache-2.0
// GpuQueue: the one in-order queue of a device: kernels, copies within the device and between it
// and the host. What is put there runs behind all that was put there before.
//
//   GpuLaunch launch(function);
//   launch.Add(x).Add(y).Value(uint32_t{n});           // in the order of the kernel's parameters
//   RETURN_IF_ERROR(queue.Run(launch, {n, 1, 1}, {128, 1, 1}));
//
// Ownership: shares the driver and the memory; its end waits for what is queued.
// Threads: every member from any. `done` is called on a thread of the driver's, or inline. Run
// waits only where thousands of calls stand in the queue: a program may not run ahead for ever.
// Errors: Internal for a tensor of elsewhere; Unimplemented for more groups than the device
// runs; those of GpuDriver::ErrorOf. What queued work ended with is the error of copies to the host
// behind it, and of every later call: Unavailable, with the device's name, where it is lost.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "thalweg/base/mutex.h"
#include "thalweg/devices/gpu/gpu_memory.h"
#include "thalweg/tensor/tensor.h"

namespace thalweg {

// One call of a kernel: its arguments. A tensor is two parameters: its buffer, and the place of its
// first element there (ulong, in elements).
class GpuLaunch {
 public:
  explicit GpuLaunch(GpuFunction function) : function_(function) {}
  GpuLaunch& Add(const Tensor& tensor) {
    arguments_[count_++] = {tensor.raw_data(), DTypeSize(tensor.dtype()), true};
    return *this;
  }
  // A number or a struct of numbers, laid out as in the kernel's source.
  template <class T>
  GpuLaunch& Value(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto* const bytes = reinterpret_cast<const char*>(&value);
    values_.insert(values_.end(), bytes, bytes + sizeof(T));
    arguments_[count_++] = {nullptr, sizeof(T), false};
    return *this;
  }

 private:
  friend class GpuQueue;
  struct Argument {
    const void* address = nullptr;
    size_t size = 0;  // of an element, or of the value
    bool is_tensor = false;
  };
  static constexpr size_t kMost = 24;

  const GpuFunction function_;
  size_t count_ = 0;
  std::array<Argument, kMost> arguments_{};
  std::vector<char> values_;  // one after the other
};

struct GpuConvolutionTensors {
  Tensor image, filter, output;  // or their gradients
  Tensor workspace;              // may be empty
};

// The part of one device in a collective operation: its queue, and tensors of its memory. `from` is
// empty where it only receives.
struct GpuShare {
  class GpuQueue* queue = nullptr;
  Tensor from, to;
};

class GpuQueue {
 public:
  // `name`: the device's, for errors.
  GpuQueue(std::shared_ptr<GpuDriver> driver, std::shared_ptr<GpuMemory> memory, std::string name)
      : driver_(std::move(driver)), memory_(std::move(memory)), name_(std::move(name)) {}
  ~GpuQueue();
  GpuQueue(const GpuQueue&) = delete;
  GpuQueue& operator=(const GpuQueue&) = delete;

  // At least so many work items; each dimension is rounded up to whole groups.
  Status Run(const GpuLaunch& launch, WorkSize items, WorkSize group) EXCLUDES(mutex_);
  // c = a b, by the driver's library, which must be there (GpuDriver::has_products).
  Status Multiply(const GpuProduct& product, const Tensor& a, const Tensor& b, const Tensor& c)
      EXCLUDES(mutex_);
  // Those of GpuDriver, whose library must be there (has_convolutions). Unimplemented for what it
  // has no way for.
  Result<size_t> FindWorkspace(const GpuConvolution& convolution, size_t most) EXCLUDES(mutex_);
  Status Convolve(const GpuConvolution& convolution, const GpuConvolutionTensors& tensors)
      EXCLUDES(mutex_);
  // The bytes of one tensor into another as large; both are the device's.
  Status Copy(const Tensor& from, const Tensor& to) EXCLUDES(mutex_);
  // The bytes of a tensor of another queue's device, whose driver this one's reaches, into one as
  // large of this one's. It stands behind what is in the other queue, and what is put there later
  // behind it. Where the other's work turns out to have failed, this device is lost, too.
  Status CopyFrom(GpuQueue& other, const Tensor& from, const Tensor& to) EXCLUDES(mutex_);
  // In the queues of all shares, by rank, as one: what is put into any of them stands behind it or
  // in front of it in all, so that no two such operations wait for each other. Where the work of
  // one device turns out to have failed, all are lost.
  static Status Collect(const GpuCollective& collective, std::span<const GpuShare> shares);

  // OK, or the error of every later call.
  Status broken() const EXCLUDES(mutex_);

  using Ended = std::function<void(Status)>;
  // `from` is the device's and `to` the host's, or the reverse. `ended` is called once unless an
  // error is returned; what it holds keeps the host's bytes until then.
  Status Read(const Tensor& from, void* to, Ended ended) EXCLUDES(mutex_);
  Status Write(const void* from, const Tensor& to, GpuReaders readers, Ended ended)
      EXCLUDES(mutex_);

 private:
  Result<GpuPlace> PlaceOf(const void* address) const;
  // Of a call about a convolution.
  Status Convolved(std::string_view what, int error) EXCLUDES(mutex_);
  Status CheckGroups(const WorkSize& items, const WorkSize& group) const;
  // The error of a call of the driver's, in words. `may_wait`: no callback of the driver's.
  Status ErrorOf(std::string_view what, int error, bool may_wait) const {
    return ErrorOf(*driver_, name_, what, error, may_wait);
  }
  static Status ErrorOf(GpuDriver& driver, std::string_view name, std::string_view what, int error,
                        bool may_wait);
  // As ErrorOf, kept where the device is lost.
  Status Failed(std::string_view what, int error) EXCLUDES(mutex_);
  void Keep(const Status& error) EXCLUDES(mutex_);
  Status LimitQueue(GpuEvent mark) EXCLUDES(mutex_);
  Result<GpuEvent> Mark() EXCLUDES(mutex_);
  // Drivers with the names of their devices.
  using Names = std::map<std::shared_ptr<GpuDriver>, std::string>;
  // Whose work what this device has may depend on.
  Names Makers() EXCLUDES(mutex_);
  void AddMakers(Names* makers) const REQUIRES(mutex_);
  // What this device has from now on may depend on these, too.
  void DependOn(const Names& makers) REQUIRES(mutex_);
  // Calls it with the locks of all shares' queues, in the order of the ranks.
  struct Collecting;
  static Status CollectFrom(size_t rank, Collecting& collecting);
  // The part of CopyFrom that is of this queue: between the two events.
  int CopyBetween(GpuQueue& other, const Names& sources, GpuEvent written, const GpuPlace& from,
                  const GpuPlace& to, size_t bytes, GpuEvent* copied) REQUIRES(mutex_);
  // An error of a call that another queue takes part in: of the other, where that has failed.
  Status FailedWith(GpuQueue& other, std::string_view what, int error) EXCLUDES(mutex_);
  Status Follow(GpuEvent mark) EXCLUDES(mutex_);
  // What queued work has failed with so far.
  Status Check() EXCLUDES(mutex_);
  // Once the first so many copies from other queues have ended: whether what they read was made.
  // Else this device's memory is worth nothing, either.
  Status CheckSources(int64_t copies) EXCLUDES(mutex_);
  // One call more that has not come; what the driver is to call then.
  Result<GpuDriver::Ended> Expect(Ended ended) EXCLUDES(mutex_);
  void CallEnded() EXCLUDES(mutex_);

  const std::shared_ptr<GpuDriver> driver_;
  const std::shared_ptr<GpuMemory> memory_;
  const std::string name_;
  mutable Mutex mutex_;
  CondVar all_ended_;
  Status broken_ GUARDED_BY(mutex_);
  int64_t calls_ GUARDED_BY(mutex_) = 0;           // copies whose call has not come
  int64_t launched_ GUARDED_BY(mutex_) = 0;        // since the last mark
  std::deque<GpuEvent> marks_ GUARDED_BY(mutex_);  // of every so many launches
  // Of copies from another queue's device that nobody knows to be whole yet.
  struct Source {
    std::string name;       // of the device
    int64_t last_copy = 0;  // its number
  };
  std::map<std::shared_ptr<GpuDriver>, Source> sources_ GUARDED_BY(mutex_);
  int64_t copies_ GUARDED_BY(mutex_) = 0;  // from other queues
};

}  // namespace thalweg
