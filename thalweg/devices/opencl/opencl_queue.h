// SPDX-License-Identifier: Apache-2.0
// OpenClQueue: the one in-order queue of a device: kernels, copies within the device and between it
// and the host. What is put there runs behind all that was put there before.
//
//   OpenClLaunch launch(kernel);
//   launch.Add(x).Add(y).Value(uint32_t{n});           // in the order of the kernel's parameters
//   RETURN_IF_ERROR(queue.Run(launch, {n, 1, 1}, {128, 1, 1}));
//
// Ownership: shares the context and the memory; its end waits for what is queued.
// Threads: every member from any. `done` is called on a thread of the driver's, or inline. Run
// waits only where thousands of calls stand in the queue: a program may not run ahead for ever.
// Errors: Internal for a tensor of elsewhere; those of OpenClError. What queued work ended with is
// the error of copies to the host behind it, and of every later call: Unavailable, with the
// device's name, where the device is lost.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "thalweg/base/mutex.h"
#include "thalweg/devices/opencl/opencl_memory.h"
#include "thalweg/tensor/tensor.h"

namespace thalweg {

// One call of a kernel: its arguments. A tensor is two parameters: its buffer, and the place of its
// first element there (ulong, in elements).
class OpenClLaunch {
 public:
  explicit OpenClLaunch(cl::KernelId kernel) : kernel_(kernel) {}
  OpenClLaunch& Add(const Tensor& tensor) {
    arguments_[count_++] = {tensor.raw_data(), DTypeSize(tensor.dtype()), true};
    return *this;
  }
  // A number or a struct of numbers, laid out as in the kernel's source.
  template <class T>
  OpenClLaunch& Value(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto* const bytes = reinterpret_cast<const char*>(&value);
    values_.insert(values_.end(), bytes, bytes + sizeof(T));
    arguments_[count_++] = {nullptr, sizeof(T), false};
    return *this;
  }

 private:
  friend class OpenClQueue;
  struct Argument {
    const void* address = nullptr;
    size_t size = 0;  // of an element, or of the value
    bool is_tensor = false;
  };
  static constexpr size_t kMost = 24;

  const cl::KernelId kernel_;
  size_t count_ = 0;
  std::array<Argument, kMost> arguments_{};
  std::vector<char> values_;  // one after the other
};

using WorkSize = std::array<size_t, 3>;

class OpenClQueue {
 public:
  // `name`: the device's, for errors.
  OpenClQueue(std::shared_ptr<OpenClContext> context, std::shared_ptr<OpenClMemory> memory,
              std::string name)
      : context_(std::move(context)), memory_(std::move(memory)), name_(std::move(name)) {}
  ~OpenClQueue();
  OpenClQueue(const OpenClQueue&) = delete;
  OpenClQueue& operator=(const OpenClQueue&) = delete;

  // At least so many work items; each dimension is rounded up to whole groups.
  Status Run(const OpenClLaunch& launch, WorkSize items, WorkSize group) EXCLUDES(mutex_);
  // The bytes of one tensor into another as large; both are the device's.
  Status Copy(const Tensor& from, const Tensor& to) EXCLUDES(mutex_);

  // OK, or the error of every later call.
  Status broken() const EXCLUDES(mutex_);

  using Ended = std::function<void(Status)>;
  // `from` is the device's and `to` the host's, or the reverse. `ended` is called once unless an
  // error is returned; what it holds keeps the host's bytes until then.
  Status Read(const Tensor& from, void* to, Ended ended) EXCLUDES(mutex_);
  Status Write(const void* from, const Tensor& to, Ended ended) EXCLUDES(mutex_);

 private:
  // What an event calls when it has ended.
  struct Call {
    OpenClQueue* queue;
    Ended ended;
  };
  static void OnEvent(cl::Event event, cl::Int status, void* data);

  Result<OpenClPlace> PlaceOf(const void* address) const;
  Status SetArguments(const OpenClLaunch& launch) REQUIRES(mutex_);
  // Whether a driver's error means that the device is lost. `may_wait`: no callback of the
  // driver's.
  bool IsLoss(cl::Int error, bool may_wait) const;
  Status ErrorOf(std::string_view what, cl::Int error, bool may_wait) const;
  // The error of a call, kept where the device is lost.
  Status Failed(std::string_view what, cl::Int error) REQUIRES(mutex_);
  // `ended` when the event has ended, at once where the driver cannot say.
  void WhenEnded(cl::Event event, Ended ended) EXCLUDES(mutex_);
  void Keep(const Status& error) EXCLUDES(mutex_);
  Status LimitQueue(cl::Event event) EXCLUDES(mutex_);

  const std::shared_ptr<OpenClContext> context_;
  const std::shared_ptr<OpenClMemory> memory_;
  const std::string name_;
  mutable Mutex mutex_;
  CondVar all_ended_;
  Status broken_ GUARDED_BY(mutex_);
  int64_t calls_ GUARDED_BY(mutex_) = 0;            // events whose call has not come
  int64_t launched_ GUARDED_BY(mutex_) = 0;         // since the last mark
  std::deque<cl::Event> marks_ GUARDED_BY(mutex_);  // of every so many launches
};

}  // namespace thalweg
