// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/kernel/rendezvous.h"

namespace thalweg {
namespace {

// The key of one edge, all but the tag of the call; and where it is handed
// over.
class Edge {
 public:
  static Result<Edge> Make(const KernelConstruction& c) {
    Edge edge;
    ASSIGN_OR_RETURN(edge.key_.source, c.Attr<std::string>("send_device"));
    ASSIGN_OR_RETURN(const int64_t incarnation, c.Attr<int64_t>("send_device_incarnation"));
    edge.key_.incarnation = static_cast<uint64_t>(incarnation);
    ASSIGN_OR_RETURN(edge.key_.destination, c.Attr<std::string>("recv_device"));
    ASSIGN_OR_RETURN(edge.key_.edge, c.Attr<std::string>("tensor_name"));
    ASSIGN_OR_RETURN(edge.with_client_, c.Attr<bool>("client_terminated"));
    return edge;
  }

  const std::string& name() const { return key_.edge; }
  // What goes to or comes from the client of a partial run has no iteration.
  RendezvousKey KeyOf(const Context& ctx) const {
    RendezvousKey key = key_;
    key.tag = with_client_ ? 0 : ctx.tag();
    return key;
  }
  Result<Rendezvous*> RendezvousOf(const Context& ctx) const {
    Rendezvous* rendezvous = with_client_ ? ctx.step().feeds_and_fetches : ctx.step().rendezvous;
    if (rendezvous == nullptr) {
      return Internal("edge '", key_.edge, "' has no rendezvous in this step",
                      with_client_ ? ": it is no partial run" : "");
    }
    return rendezvous;
  }

 private:
  RendezvousKey key_;
  bool with_client_ = false;
};

class SendCpu : public Kernel {
 public:
  explicit SendCpu(Edge edge) : edge_(std::move(edge)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(Edge edge, Edge::Make(c));
    return std::unique_ptr<Kernel>(std::make_unique<SendCpu>(std::move(edge)));
  }

  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(Rendezvous * rendezvous, edge_.RendezvousOf(ctx));
    const Tensor& tensor = ctx.input(0);
    return rendezvous->Send(edge_.KeyOf(ctx), {tensor, tensor.empty()});
  }

 private:
  const Edge edge_;
};

class RecvCpu : public AsyncKernel {
 public:
  RecvCpu(Edge edge, DType dtype) : edge_(std::move(edge)), dtype_(dtype) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(Edge edge, Edge::Make(c));
    return std::unique_ptr<Kernel>(std::make_unique<RecvCpu>(std::move(edge), c.output_type(0)));
  }

  // A cancelled step aborts the whole rendezvous, which answers every waiter.
  void ComputeAsync(Context& ctx, Done done) override {
    const Result<Rendezvous*> found = edge_.RendezvousOf(ctx);
    if (!found.ok()) return std::move(done)(found.status());
    Rendezvous* rendezvous = *found;
    CancellationManager* cancellation = ctx.step().cancellation;
    auto call = std::make_shared<Call>(std::move(done));
    if (!call->aborts.Begin(cancellation,
                            [rendezvous](const Status& why) { rendezvous->Abort(why); })) {
      return std::move(call->done)(cancellation->Reason());
    }
    rendezvous->Recv(edge_.KeyOf(ctx), [this, call, &ctx](Result<Delivery> delivery) {
      call->aborts.End();
      const Status status = Take(std::move(delivery), ctx);
      std::move(call->done)(status);
    });
  }

 private:
  struct Call {
    explicit Call(Done d) : done(std::move(d)) {}
    Done done;
    ScopedCancellation aborts;
  };

  // Who reads the value relies on its type, which another task may have chosen.
  Status Take(Result<Delivery> delivery, Context& ctx) const {
    ctx.set_output(0, Tensor());
    if (!delivery.ok() || delivery->dead) return delivery.status();
    const DType sent = delivery->tensor.dtype();
    if (sent != dtype_) {
      return InvalidArgument("edge '", edge_.name(), "' brings ", sent, ", expected ", dtype_);
    }
    ctx.set_output(0, std::move(delivery->tensor));
    return OkStatus();
  }

  const Edge edge_;
  const DType dtype_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(send_recv, cpu) {
  for (const char* op : {"_Send", "_HostSend"}) {
    registry.Add<SendCpu>(op, kCpu).Cost(KernelCost::kCheap);
  }
  for (const char* op : {"_Recv", "_HostRecv"}) registry.Add<RecvCpu>(op, kCpu);
}
