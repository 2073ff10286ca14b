// SPDX-License-Identifier: Apache-2.0
#include "thalweg/devices/gpu/cuda/cuda_group.h"

#include <chrono>
#include <optional>
#include <system_error>
#include <utility>

namespace thalweg {
namespace {

// How often a group that has work is looked at.
constexpr std::chrono::milliseconds kInterval(50);

std::optional<int> TypeOf(DType dtype) {
  switch (dtype) {
    case DType::kInt32:
      return nccl::kInt32;
    case DType::kInt64:
      return nccl::kInt64;
    case DType::kHalf:
      return nccl::kHalf;
    case DType::kBfloat16:
      return nccl::kBfloat16;
    case DType::kFloat:
      return nccl::kFloat;
    case DType::kDouble:
      return nccl::kDouble;
    default:
      return std::nullopt;
  }
}

// Of the process: groups of several environments may share cards, and no queue's lock. What is
// started in one order on one card and in another one on the next may wait for ever.
Mutex& StartMutex() {
  static Mutex mutex;
  return mutex;
}

std::optional<int> MergeOf(const GpuCollective& collective) {
  if (collective.is_mean) {
    // Of integers NCCL does not say how it rounds.
    if (IsInteger(collective.dtype) || collective.merge != compute::BinaryOp::kAdd)
      return std::nullopt;
    return nccl::kMean;
  }
  const bool is_extreme = collective.merge == compute::BinaryOp::kMaximum ||
                          collective.merge == compute::BinaryOp::kMinimum;
  // Of NaN and a number NCCL takes the number; here NaN goes through.
  if (is_extreme && !IsInteger(collective.dtype)) return std::nullopt;
  switch (collective.merge) {
    case compute::BinaryOp::kAdd:
      return nccl::kSum;
    case compute::BinaryOp::kMul:
      return nccl::kProduct;
    case compute::BinaryOp::kMaximum:
      return nccl::kMaximum;
    case compute::BinaryOp::kMinimum:
      return nccl::kMinimum;
    default:
      return std::nullopt;
  }
}

void* PointerOf(cu::Pointer address) { return reinterpret_cast<void*>(address); }

}  // namespace

bool CudaGroup::CanRun(const GpuCollective& collective) {
  switch (collective.kind) {
    case CollectiveKind::kReduce:
    case CollectiveKind::kReduceScatter:
      return TypeOf(collective.dtype) && MergeOf(collective);
    case CollectiveKind::kGather:
    case CollectiveKind::kBroadcast:
      return DTypeSize(collective.dtype) > 0;  // as bytes
    case CollectiveKind::kAllToAll:
      return false;
  }
  return false;
}

Status CudaGroup::ErrorOf(std::string_view what, int error) {
  const NcclApi* const nccl = NcclApi::Load();
  const int number = error - kFirstError;
  const char* const words = nccl == nullptr ? nullptr : nccl->GetErrorString(number);
  return Internal("NCCL: ", what, ": ", words == nullptr ? "an error without a name" : words, " (",
                  number, ")");
}

int CudaGroup::Make(const NcclApi& nccl, Contexts contexts, std::unique_ptr<CudaGroup>* group) {
  std::unique_ptr<CudaGroup> made(new CudaGroup(nccl, std::move(contexts)));
  std::vector<int> ordinals;
  for (const auto& context : made->contexts_) ordinals.push_back(context->ordinal());
  {
    const CurrentCuda current = made->contexts_.front()->Use();
    MutexLock lock(made->mutex_);
    const int status = nccl.CommInitAll(made->communicators_.data(),
                                        static_cast<int>(ordinals.size()), ordinals.data());
    if (status != nccl::kSuccess) {
      made->failed_ = kFirstError + status;
      return made->failed_;
    }
  }
  try {
    made->watch_ = Thread("cuda-group", [own = made.get()] { own->Watch(); });
  } catch (const std::system_error&) {
    return cu::kOutOfMemory;
  }
  *group = std::move(made);
  return cu::kSuccess;
}

CudaGroup::~CudaGroup() {
  {
    MutexLock lock(mutex_);
    ends_ = true;
    changed_.NotifyAll();
  }
  watch_.Join();
  MutexLock lock(mutex_);
  if (failed_ != 0) return;
  const CurrentCuda current = contexts_.front()->Use();
  for (const nccl::Communicator communicator : communicators_) nccl_.CommDestroy(communicator);
}

bool CudaGroup::has_failed() const {
  MutexLock lock(mutex_);
  return failed_ != 0;
}

int CudaGroup::Call(const GpuCollective& collective, size_t rank, const Places& places) {
  const void* const from = PointerOf(places.from);
  void* const to = PointerOf(places.to);
  const nccl::Communicator communicator = communicators_[rank];
  const cu::Stream stream = contexts_[rank]->stream();
  const size_t bytes = collective.count * DTypeSize(collective.dtype);
  const int type = TypeOf(collective.dtype).value_or(nccl::kUint8);
  const int merge = MergeOf(collective).value_or(nccl::kSum);
  switch (collective.kind) {
    case CollectiveKind::kReduce:
      return nccl_.AllReduce(from, to, collective.count, type, merge, communicator, stream);
    case CollectiveKind::kReduceScatter:
      return nccl_.ReduceScatter(from, to, collective.count, type, merge, communicator, stream);
    case CollectiveKind::kGather:
      return nccl_.AllGather(from, to, bytes, nccl::kUint8, communicator, stream);
    default:
      return nccl_.Broadcast(from, to, bytes, nccl::kUint8, collective.sender, communicator,
                             stream);
  }
}

int CudaGroup::Start(const GpuCollective& collective, std::span<const Places> places,
                     bool* is_started) {
  MutexLock lock(StartMutex());
  const CurrentCuda current = contexts_.front()->Use();
  int status = nccl_.GroupStart();
  *is_started = status == nccl::kSuccess;
  if (!*is_started) return status;
  for (size_t rank = 0; rank < places.size() && status == nccl::kSuccess; ++rank) {
    status = Call(collective, rank, places[rank]);
  }
  const int ended = nccl_.GroupEnd();
  return status == nccl::kSuccess ? ended : status;
}

int CudaGroup::Run(const GpuCollective& collective, std::span<const Places> places) {
  MutexLock lock(mutex_);
  if (failed_ != 0) return failed_;
  bool is_started = false;
  const int status = Start(collective, places, &is_started);
  if (!is_started) return kFirstError + status;
  if (status != nccl::kSuccess) {
    bool is_busy = false;
    // A card that is lost says more than what NCCL says of it.
    if (const int fault = Fault(&is_busy); fault != cu::kSuccess) {
      Abort(fault);
    } else {
      Fail(kFirstError + status);
    }
    return failed_;
  }
  is_under_way_ = true;
  changed_.NotifyAll();
  return cu::kSuccess;
}

void CudaGroup::Abort(int error) {
  failed_ = error;
  is_under_way_ = false;
  const CurrentCuda current = contexts_.front()->Use();
  for (const nccl::Communicator communicator : communicators_) nccl_.CommAbort(communicator);
}

void CudaGroup::Fail(int error) {
  // Before their streams go on.
  for (const auto& context : contexts_) context->Fail(error);
  Abort(error);
}

int CudaGroup::Fault(bool* is_busy) const {
  for (const auto& context : contexts_) {
    const CurrentCuda current = context->Use();
    const int error = context->cuda().StreamQuery(context->stream());
    *is_busy |= error == cu::kNotReady;
    if (error != cu::kSuccess && error != cu::kNotReady) return error;
  }
  return cu::kSuccess;
}

bool CudaGroup::Look() {
  bool is_busy = false;
  if (const int fault = Fault(&is_busy); fault != cu::kSuccess) {
    Abort(fault);  // that card's, of which its stream tells whoever asks
    return false;
  }
  for (const nccl::Communicator communicator : communicators_) {
    int status = nccl::kSuccess;
    const int asked = nccl_.CommGetAsyncError(communicator, &status);
    if (asked != nccl::kSuccess) status = asked;
    if (status == nccl::kSuccess || status == nccl::kInProgress) continue;
    Fail(kFirstError + status);
    return false;
  }
  return is_busy;
}

void CudaGroup::Watch() {
  MutexLock lock(mutex_);
  while (!ends_ || is_under_way_) {
    if (is_under_way_) {
      changed_.WaitUntil(mutex_, std::chrono::steady_clock::now() + kInterval);
      if (is_under_way_) is_under_way_ = Look();
    } else {
      changed_.Wait(mutex_);
    }
  }
}

}  // namespace thalweg
