// SPDX-License-Identifier: Apache-2.0
// CudaCopier: copies between host and card on a stream of their own, beside what is launched, by
// way of host memory that the card reaches. A copy begins when the stream of launches has come to
// where that was when the copy was asked for.
//
//   CudaCopier to_host(context, "cuda-to-host");
//   const int error = to_host.Add({.device = address, .host = bytes, .size = n, .ended = ...});
//
// Ownership: shares the context; its end waits for what was added.
// Threads: Add from any. One of its own threads copies, in order; while that one is in an `ended`,
// which may wait for another copy, another goes on.
// Errors: of Add: it has not been added, and `ended` is not called; kOutOfMemory also where the
// system gives no thread that could copy.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "thalweg/base/mutex.h"
#include "thalweg/base/thread.h"
#include "thalweg/devices/gpu/cuda/cuda_context.h"
#include "thalweg/devices/gpu/gpu_driver.h"

namespace thalweg {

struct CudaCopy {
  cu::Pointer device = 0;
  char* host = nullptr;
  size_t size = 0;
  bool to_device = false;  // then what is launched after `ended` stands behind the copy
  GpuDriver::Ended ended = nullptr;
};

class CudaCopier {
 public:
  CudaCopier(std::shared_ptr<CudaContext> context, std::string name);
  ~CudaCopier();
  CudaCopier(const CudaCopier&) = delete;
  CudaCopier& operator=(const CudaCopier&) = delete;

  int Add(CudaCopy copy) EXCLUDES(mutex_);

 private:
  struct Job {
    CudaCopy copy;
    cu::Event after = nullptr;  // of the launches
  };

  void Loop() EXCLUDES(mutex_);
  // Somebody does what is to be done next; false where the system gives no thread for it.
  bool PassOn() REQUIRES(mutex_);
  bool StartThread() REQUIRES(mutex_);
  int Do(const Job& job);
  int ToHost(const CudaCopy& copy);
  int ToDevice(const CudaCopy& copy);

  const std::shared_ptr<CudaContext> context_;
  const std::string name_;
  // Of the thread that copies.
  cu::Stream stream_ = nullptr;
  CudaStaging staging_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<Job> jobs_ GUARDED_BY(mutex_);
  bool somebody_copies_ GUARDED_BY(mutex_) = false;
  int free_ GUARDED_BY(mutex_) = 0;  // threads that neither copy nor are in an `ended`
  bool ends_ GUARDED_BY(mutex_) = false;
  std::vector<Thread> threads_ GUARDED_BY(mutex_);
};

}  // namespace thalweg
