// SPDX-License-Identifier: Apache-2.0
// CudaGroup: cards that compute collective operations together by NCCL: a communicator for each,
// and a thread that looks whether one of them, or NCCL, has failed while the others wait for it.
//
//   std::unique_ptr<CudaGroup> group;
//   int error = CudaGroup::Make(api, contexts, &group);
//   if (error == 0) error = group->Run(collective, places);
//
// What has failed is aborted, so that no stream waits for ever. Where NCCL failed, what the cards
// have is worth nothing from then on (CudaContext::Fail); where a card did, its stream says so.
// Ownership: shares the contexts; at its end what was queued has ended.
// Threads: every member from any. Whoever calls Run holds the cards' queues.
// Errors: NCCL's numbers beyond kFirstError, which ErrorOf puts into words; Make: kOutOfMemory of
// the driver's where the system gives no thread.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "thalweg/base/mutex.h"
#include "thalweg/base/thread.h"
#include "thalweg/devices/gpu/cuda/cuda_context.h"
#include "thalweg/devices/gpu/cuda/nccl_api.h"
#include "thalweg/devices/gpu/gpu_driver.h"

namespace thalweg {

class CudaGroup {
 public:
  using Contexts = std::vector<std::shared_ptr<CudaContext>>;
  // Of one card: what it brings, what it gets.
  struct Places {
    cu::Pointer from = 0, to = 0;
  };
  static constexpr int kFirstError = 300000;  // none of the driver's and of the other libraries'

  static bool CanRun(const GpuCollective& collective);
  static Status ErrorOf(std::string_view what, int error);

  // `contexts`: by rank.
  static int Make(const NcclApi& nccl, Contexts contexts, std::unique_ptr<CudaGroup>* group);
  ~CudaGroup();
  CudaGroup(const CudaGroup&) = delete;
  CudaGroup& operator=(const CudaGroup&) = delete;

  // In the streams of all, by rank.
  int Run(const GpuCollective& collective, std::span<const Places> places) EXCLUDES(mutex_);
  // Nothing runs in it any more.
  bool has_failed() const EXCLUDES(mutex_);

 private:
  CudaGroup(const NcclApi& nccl, Contexts contexts)
      : nccl_(nccl), contexts_(std::move(contexts)), communicators_(contexts_.size()) {}

  int Call(const GpuCollective& collective, size_t rank, const Places& places) REQUIRES(mutex_);
  // The part of Run that is NCCL's; its number. *is_started: something may be under way.
  int Start(const GpuCollective& collective, std::span<const Places> places, bool* is_started)
      REQUIRES(mutex_);
  void Watch() EXCLUDES(mutex_);
  // What a card's stream has failed with. *is_busy: there is something on one.
  int Fault(bool* is_busy) const;
  // Whether something may still be under way; aborts what cannot end.
  bool Look() REQUIRES(mutex_);
  void Abort(int error) REQUIRES(mutex_);
  // As Abort, where what the cards have is worth nothing.
  void Fail(int error) REQUIRES(mutex_);

  const NcclApi& nccl_;
  const Contexts contexts_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::vector<nccl::Communicator> communicators_ GUARDED_BY(mutex_);  // by rank
  bool is_under_way_ GUARDED_BY(mutex_) = false;
  int failed_ GUARDED_BY(mutex_) = 0;
  bool ends_ GUARDED_BY(mutex_) = false;
  Thread watch_;
};

}  // namespace thalweg
