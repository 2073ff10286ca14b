// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/transport/inproc/inproc_channel.h"

#include <deque>
#include <string>
#include <variant>

#include "thalweg/base/mutex.h"
#include "thalweg/cluster/transport/doorbell.h"
#include "thalweg/cluster/transport/payload.h"

namespace thalweg {
namespace {

struct Pushed {
  TensorHead head;
  Tensor tensor;
};
using InprocRecord = std::variant<std::string, Pushed>;

// What waits for one of the two ends.
class Inbox {
 public:
  void Put(InprocRecord record) EXCLUDES(mutex_) {
    {
      MutexLock lock(mutex_);
      if (closing_) return;
      records_.push_back(std::move(record));
    }
    doorbell.Notify();
  }

  // No more comes. `drop`: what waits goes too.
  void Close(const Status& why, bool drop) EXCLUDES(mutex_) {
    std::deque<InprocRecord> dropped;  // tensors go without the lock
    {
      MutexLock lock(mutex_);
      if (drop) dropped.swap(records_);
      if (closing_) return;
      closing_ = true;
      why_ = why;
    }
    doorbell.Notify();
  }

  // Calls the sink for one record, or for the end. False: nothing was here.
  bool Deliver(ChannelSink& sink) EXCLUDES(mutex_) {
    InprocRecord record;
    Status why;
    bool closed = false;
    {
      MutexLock lock(mutex_);
      if (!records_.empty()) {
        record = std::move(records_.front());
        records_.pop_front();
      } else if (closing_ && !said_) {
        said_ = closed = true;
        why = why_;
      } else {
        return false;
      }
    }
    if (closed) {
      sink.OnClosed(why);
    } else if (auto* pushed = std::get_if<Pushed>(&record)) {
      sink.OnTensor(pushed->head, std::move(pushed->tensor));
    } else {
      sink.OnControl(std::get<std::string>(record));
    }
    return true;
  }

  bool HasSomething() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return !records_.empty() || (closing_ && !said_);
  }

  Doorbell doorbell;
  Mutex polling;  // held by the thread that polls

 private:
  Mutex mutex_;
  std::deque<InprocRecord> records_ GUARDED_BY(mutex_);
  bool closing_ GUARDED_BY(mutex_) = false;
  bool said_ GUARDED_BY(mutex_) = false;
  Status why_ GUARDED_BY(mutex_);
};

class InprocChannel final : public Channel {
 public:
  InprocChannel(std::shared_ptr<Inbox> in, std::shared_ptr<Inbox> out)
      : in_(std::move(in)), out_(std::move(out)) {}
  ~InprocChannel() override {
    Close(Unavailable("the other side of the channel has gone"));
    in_->doorbell.Set(nullptr);
  }

  void Send(std::string_view control) override {
    if (control.size() > kMaxControlBytes) {
      Close(ControlTooLong(control.size()));
    } else {
      out_->Put(std::string(control));
    }
  }

  void Push(const TensorHead& head, Tensor tensor) override {
    if (Status fits = CheckHeadFits(head, tensor); !fits.ok()) {
      Close(std::move(fits));
    } else {
      out_->Put(Pushed{head, std::move(tensor)});
    }
  }

  bool Poll(ChannelSink& sink, int budget) override {
    if (!in_->polling.TryLock()) return false;
    bool more = true;
    while (more && budget-- > 0) more = in_->Deliver(sink);
    in_->polling.Unlock();
    return more;
  }

  void OnArrival(std::function<void()> ring) override { in_->doorbell.Set(std::move(ring)); }

  bool Arm() override {
    in_->doorbell.Arm();
    return !in_->HasSomething() || !in_->doorbell.Disarm();
  }

  void Close(Status why) override {
    in_->Close(why, /*drop=*/true);
    out_->Close(why, /*drop=*/false);
  }

 private:
  const std::shared_ptr<Inbox> in_;
  const std::shared_ptr<Inbox> out_;
};

}  // namespace

ChannelPair MakeInprocChannels() {
  auto a = std::make_shared<Inbox>();
  auto b = std::make_shared<Inbox>();
  return {std::make_unique<InprocChannel>(a, b), std::make_unique<InprocChannel>(b, a)};
}

}  // namespace thalweg
