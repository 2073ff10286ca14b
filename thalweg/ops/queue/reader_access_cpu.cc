// SPDX-License-Identifier: Apache-2.0
#include "thalweg/base/work_queue.h"
#include "thalweg/ops/queue/queue_node.h"
#include "thalweg/ops/queue/reader.h"
#include "thalweg/ops/queue/tensor_queue.h"
#include "thalweg/tensor/heap_charge.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

// A call of a reader. It is tried with the turn that nobody has; else it becomes a ReaderCall.
class ReaderKernel : public WaitingKernel {
 public:
  std::optional<Status> TryCompute(Context& ctx) final;
  void Wait(Context& ctx, Done done) final;
  std::string WaitsFor(Context& ctx) const final {
    const Result<RefPtr<Reader>> reader = ResourceOf<Reader>(ctx);
    if (!reader.ok()) return "";
    std::string text = (*reader)->DebugString();
    if (ctx.num_inputs() < 2) return text;
    const Result<RefPtr<TensorQueue>> queue = ResourceOf<TensorQueue>(ctx, 1);
    return queue.ok() ? StrCat(text, " at ", (*queue)->DebugString()) : text;
  }

  // With the turn: goes on until there is a result. Nothing when it must wait for the queue.
  std::optional<Status> Go(Context& ctx, Reader& reader);
  // The element that output 0 is becomes the reader's work.
  static Status BeginElement(Context& ctx, Reader& reader);

 protected:
  // Nothing: the reader needs work.
  virtual std::optional<Status> Try(Context& ctx, Reader& reader) = 0;

 private:
  std::optional<Status> TryTurn(Context& ctx, Reader& reader);
};

// A call that waits, for its turn or for an element; it ends with its Done.
class ReaderCall final : public DoneSink {
 public:
  ReaderCall(ReaderKernel& kernel, Context& ctx, RefPtr<Reader> reader, Done done)
      : kernel_(kernel), ctx_(ctx), reader_(std::move(reader)), done_(std::move(done)) {}

  void Start() { reader_->Join(std::make_unique<Reader::Turn>(ctx_, Done(this, kTurn))); }

  void OnDone(uint64_t token, Status status) override {
    if (!status.ok()) return End(std::move(status));
    has_turn_ = true;
    has_element_ = token == kElement;
    // Files are read on a thread of this step, not on that of who gave the turn or the element.
    if (WorkQueue* const queue = ctx_.step().queue) {
      ScheduleClosure(*queue, [this] { Run(); });
    } else {
      Run();
    }
  }

 private:
  static constexpr uint64_t kTurn = 0, kElement = 1;

  void Run() {
    if (std::exchange(has_element_, false)) {
      Status begun = ReaderKernel::BeginElement(ctx_, *reader_);
      if (!begun.ok()) return End(std::move(begun));
    }
    if (std::optional<Status> status = kernel_.Go(ctx_, *reader_)) return End(*std::move(status));
    const Result<RefPtr<TensorQueue>> queue = ResourceOf<TensorQueue>(ctx_, 1);
    if (!queue.ok()) return End(queue.status());
    // After this the call may be gone.
    (*queue)->Join(
        std::make_unique<TensorQueue::Dequeue>(ctx_, Done(this, kElement), 1, false, false));
  }

  void End(Status status) {
    if (has_turn_) reader_->GiveTurn();
    std::move(done_)(std::move(status));
    delete this;
  }

  ReaderKernel& kernel_;
  Context& ctx_;
  const RefPtr<Reader> reader_;
  Done done_;
  bool has_turn_ = false;
  bool has_element_ = false;
};

std::optional<Status> ReaderKernel::TryCompute(Context& ctx) {
  if (Reader* const reader = BorrowedResource<Reader>(ctx)) return TryTurn(ctx, *reader);
  const Result<RefPtr<Reader>> reader = ResourceOf<Reader>(ctx);
  if (!reader.ok()) return reader.status();
  return TryTurn(ctx, **reader);
}

std::optional<Status> ReaderKernel::TryTurn(Context& ctx, Reader& reader) {
  if (!reader.TryTakeTurn()) return std::nullopt;
  std::optional<Status> status = Go(ctx, reader);
  reader.GiveTurn();
  return status;
}

void ReaderKernel::Wait(Context& ctx, Done done) {
  Result<RefPtr<Reader>> reader = ResourceOf<Reader>(ctx);
  if (!reader.ok()) return std::move(done)(reader.status());
  (new ReaderCall(*this, ctx, *std::move(reader), std::move(done)))->Start();
}

std::optional<Status> ReaderKernel::Go(Context& ctx, Reader& reader) {
  while (true) {
    if (std::optional<Status> status = Try(ctx, reader)) return status;
    const Result<RefPtr<TensorQueue>> queue = ResourceOf<TensorQueue>(ctx, 1);
    if (!queue.ok()) return queue.status();
    if ((*queue)->spec().types != std::vector<DType>{DType::kString}) {
      return InvalidArgument("Expected a queue of one component of strings for the work of ",
                             reader.DebugString(), ", got ", (*queue)->DebugString());
    }
    Status status;
    if (!(*queue)->TryDequeue(ctx, &status)) return std::nullopt;
    if (status.ok()) status = BeginElement(ctx, reader);
    if (!status.ok()) return status;
  }
}

Status ReaderKernel::BeginElement(Context& ctx, Reader& reader) {
  const Tensor work = std::move(ctx.output(0));
  if (work.num_elements() != 1) {
    return InvalidArgument(
        "Expected to dequeue a one-element string tensor, but dequeued tensor "
        "has shape: ",
        work.shape());
  }
  return reader.Begin(work.scalar<std::string>());
}

// Room for the values that a call has read so far and the one that comes. For a few short ones
// nobody is asked: they count as soon as they are the call's outputs.
class RecordRoom {
 public:
  explicit RecordRoom(Allocator& allocator) : allocator_(allocator) {}
  RecordSource::RoomFn Ask() {
    return [this](uint64_t bytes) {
      return taken_ + bytes <= kFree ? OkStatus() : charge_.Set(allocator_, taken_ + bytes);
    };
  }
  void Took(uint64_t bytes) { taken_ += bytes; }

 private:
  static constexpr uint64_t kFree = 4096;

  Allocator& allocator_;
  HeapCharge charge_;
  uint64_t taken_ = 0;
};

class ReadCpu : public ReaderKernel {
 private:
  std::optional<Status> Try(Context& ctx, Reader& reader) override {
    RecordRoom room(ctx.allocator());
    while (reader.has_work()) {
      Result<std::optional<std::string>> value = reader.Next(room.Ask());
      if (!value.ok()) return value.status();
      if (*value) return Give(ctx, reader, **std::move(value));
    }
    return std::nullopt;
  }
  static Status Give(Context& ctx, const Reader& reader, std::string&& value) {
    RETURN_IF_ERROR(GiveText(ctx, 0, reader.Key()));
    return GiveText(ctx, 1, std::move(value));
  }
  static Status GiveText(Context& ctx, int i, std::string&& text) {
    ASSIGN_OR_RETURN(Tensor * output, ctx.AllocateOutput(i, DType::kString, Shape()));
    *output->mutable_data<std::string>() = std::move(text);
    return OkStatus();
  }
};

class ReadUpToCpu : public ReaderKernel {
 private:
  std::optional<Status> Try(Context& ctx, Reader& reader) override {
    const Result<int64_t> most = IntScalar(ctx.input(2), "num_records");
    if (!most.ok()) return most.status();
    if (*most < 1) return InvalidArgument("num_records must be at least 1, got ", *most);
    RecordRoom room(ctx.allocator());
    std::vector<std::string> keys, values;
    while (reader.has_work() && static_cast<int64_t>(values.size()) < *most) {
      Result<std::optional<std::string>> value = reader.Next(room.Ask());
      // What was read is given; the error comes again with the next call.
      if (!value.ok() && values.empty()) return value.status();
      if (!value.ok()) break;
      if (!*value && values.empty()) continue;
      if (!*value) break;
      values.push_back(**std::move(value));
      keys.push_back(reader.Key());
      room.Took(keys.back().size() + values.back().size());
    }
    if (values.empty()) return std::nullopt;
    RETURN_IF_ERROR(GiveTexts(ctx, 0, keys));
    return GiveTexts(ctx, 1, values);
  }
  static Status GiveTexts(Context& ctx, int i, std::vector<std::string>& texts) {
    const Shape shape{static_cast<int64_t>(texts.size())};
    ASSIGN_OR_RETURN(Tensor * output, ctx.AllocateOutput(i, DType::kString, shape));
    std::move(texts.begin(), texts.end(), output->mutable_data<std::string>());
    return OkStatus();
  }
};

class ResetCpu : public ReaderKernel {
 private:
  std::optional<Status> Try(Context&, Reader& reader) override {
    reader.Reset();
    return OkStatus();
  }
};

class SerializeStateCpu : public ReaderKernel {
 private:
  std::optional<Status> Try(Context& ctx, Reader& reader) override {
    Result<std::string> state = reader.State();
    if (!state.ok()) return state.status();
    ctx.set_output(0, Tensor::Scalar(*state));
    return OkStatus();
  }
};

class RestoreStateCpu : public ReaderKernel {
 private:
  std::optional<Status> Try(Context& ctx, Reader& reader) override {
    const Tensor& state = ctx.input(1);
    if (state.rank() != 0) {
      return InvalidArgument("Reader state must be scalar, but had shape: ", state.shape());
    }
    return reader.Restore(state.scalar<std::string>());
  }
};

template <int64_t (Reader::*count)() const>
Status Count(Context& ctx) {
  ASSIGN_OR_RETURN(const RefPtr<Reader> reader, ResourceOf<Reader>(ctx));
  ctx.set_output(0, Tensor::Scalar((reader.get()->*count)()));
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(reader_access, cpu) {
  for (const char* version : {"", "V2"}) {
    registry.Add<ReadCpu>(StrCat("ReaderRead", version), kCpu);
    registry.Add<ReadUpToCpu>(StrCat("ReaderReadUpTo", version), kCpu);
    registry.Add<ResetCpu>(StrCat("ReaderReset", version), kCpu);
    registry.Add<SerializeStateCpu>(StrCat("ReaderSerializeState", version), kCpu);
    registry.Add<RestoreStateCpu>(StrCat("ReaderRestoreState", version), kCpu);
    registry.AddFunction<Count<&Reader::produced>>(StrCat("ReaderNumRecordsProduced", version),
                                                   kCpu);
    registry.AddFunction<Count<&Reader::finished>>(StrCat("ReaderNumWorkUnitsCompleted", version),
                                                   kCpu);
  }
}
