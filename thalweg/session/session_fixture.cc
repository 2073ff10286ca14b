// SPDX-License-Identifier: Apache-2.0
#include "thalweg/session/session_fixture.h"

#include <mutex>

#include "thalweg/graph/shape_inference.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/resources/variable.h"

namespace thalweg {
namespace {

template <class F>
Status Elementwise(Context& ctx, F f) {
  ArithmeticCalls().fetch_add(1, std::memory_order_relaxed);
  const Tensor& a = ctx.input(0);
  const Tensor& b = ctx.input(ctx.num_inputs() - 1);
  if (a.shape() != b.shape()) {
    return InvalidArgument("shapes differ: ", a.shape(), " and ", b.shape());
  }
  ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, DType::kFloat, a.shape()));
  for (int64_t i = 0; i < a.num_elements(); ++i) {
    y->mutable_data<float>()[i] = f(a.data<float>()[i], b.data<float>()[i]);
  }
  return OkStatus();
}

Status AddFloat(Context& ctx) {
  return Elementwise(ctx, [](float a, float b) { return a + b; });
}
Status MulFloat(Context& ctx) {
  return Elementwise(ctx, [](float a, float b) { return a * b; });
}
Status NegFloat(Context& ctx) {
  return Elementwise(ctx, [](float a, float) { return -a; });
}
Status LessFloat(Context& ctx) {
  ctx.set_output(0, Tensor::Scalar(ctx.input(0).scalar<float>() < ctx.input(1).scalar<float>()));
  return OkStatus();
}
Status Forward(Context& ctx) {
  ctx.set_output(0, ctx.input(0));
  return OkStatus();
}
Status Nothing(Context&) { return OkStatus(); }
Status Fail(Context&) { return InvalidArgument("it failed, as asked"); }

class VariableKernel : public Kernel {
 public:
  explicit VariableKernel(const KernelConstruction& c)
      : name_(c.node().name()),
        container_(*c.Attr<std::string>("container")),
        shape_(*c.Attr<PartialShape>("shape")) {
    const std::string shared = *c.Attr<std::string>("shared_name");
    if (!shared.empty()) name_ = shared;
  }
  Status Compute(Context& ctx) override {
    const auto create = [&] {
      return Result<RefPtr<Variable>>(RefPtr<Variable>::Adopt(
          std::make_unique<Variable>(name_, DType::kFloat, shape_).release()));
    };
    ASSIGN_OR_RETURN(RefPtr<Variable> variable,
                     ctx.step().resources->LookupOrCreate<Variable>(container_, name_, create));
    ctx.set_output(0,
                   Tensor::Reference(RefPtr<Resource>::Adopt(variable.release()), DType::kFloat));
    return OkStatus();
  }

 private:
  std::string name_;
  const std::string container_;
  const PartialShape shape_;
};

Status AssignFloat(Context& ctx) {
  ASSIGN_OR_RETURN(RefPtr<Variable> variable, VariableOf(ctx, 0));
  RETURN_IF_ERROR(variable->Assign(ctx.input(1)));
  ctx.set_output(0, ctx.input(0));
  return OkStatus();
}

Status AssignAddFloat(Context& ctx) {
  ASSIGN_OR_RETURN(RefPtr<Variable> variable, VariableOf(ctx, 0));
  Variable::Update update(*variable, true);
  ASSIGN_OR_RETURN(Tensor * value, update.Writable(ctx.allocator()));
  for (int64_t i = 0; i < value->num_elements(); ++i) {
    value->mutable_data<float>()[i] += ctx.input(1).data<float>()[i];
  }
  update.Commit();
  ctx.set_output(0, ctx.input(0));
  return OkStatus();
}

class TransferBase {
 public:
  explicit TransferBase(const KernelConstruction& c)
      : key_{.source = *c.Attr<std::string>("send_device"),
             .incarnation = static_cast<uint64_t>(*c.Attr<int64_t>("send_device_incarnation")),
             .destination = *c.Attr<std::string>("recv_device"),
             .edge = *c.Attr<std::string>("tensor_name"),
             .tag = 0},
        client_(*c.Attr<bool>("client_terminated")) {}

 protected:
  Rendezvous& rendezvous(Context& ctx) const {
    return client_ ? *ctx.step().feeds_and_fetches : *ctx.step().rendezvous;
  }
  RendezvousKey Key(Context& ctx) const {
    RendezvousKey key = key_;
    key.tag = client_ ? 0 : ctx.tag();
    return key;
  }

 private:
  const RendezvousKey key_;
  const bool client_;
};

class SendKernel : public Kernel, TransferBase {
 public:
  explicit SendKernel(const KernelConstruction& c) : TransferBase(c) {}
  Status Compute(Context& ctx) override {
    return rendezvous(ctx).Send(Key(ctx), {ctx.input(0), ctx.input(0).empty()});
  }
};

class RecvKernel : public AsyncKernel, TransferBase {
 public:
  explicit RecvKernel(const KernelConstruction& c) : TransferBase(c) {}
  void ComputeAsync(Context& ctx, Done done) override {
    Rendezvous& step_rendezvous = rendezvous(ctx);
    auto call = std::make_shared<Call>(std::move(done), ctx.step().cancellation, step_rendezvous);
    step_rendezvous.Recv(Key(ctx), [call, &ctx](Result<Delivery> got) {
      call->aborts.End();
      if (got.ok() && !got->dead) ctx.set_output(0, std::move(got->tensor));
      std::move(call->done)(got.ok() ? OkStatus() : got.status());
    });
  }

 private:
  struct Call {
    Call(Done d, CancellationManager* cancellation, Rendezvous& step_rendezvous)
        : done(std::move(d)), aborts(cancellation, [&step_rendezvous](const Status& why) {
            step_rendezvous.Abort(why);
          }) {}
    Done done;
    ScopedCancellation aborts;
  };
};

class CountKernel : public Kernel {
 public:
  Status Compute(Context& ctx) override {
    ctx.set_output(0, Tensor::Scalar(static_cast<float>(calls_.fetch_add(1) + 1)));
    return OkStatus();
  }

 private:
  std::atomic<int> calls_{0};
};

class WaitKernel : public AsyncKernel {
 public:
  void ComputeAsync(Context& ctx, Done done) override {
    auto shared = std::make_shared<Done>(std::move(done));
    CancellationManager& cancellation = *ctx.step().cancellation;
    CancellationManager::Token token;
    if (!cancellation.Register(
            [shared, &cancellation] { std::move (*shared)(cancellation.Reason()); }, &token)) {
      std::move (*shared)(cancellation.Reason());
    }
  }
};

Status PlaceholderShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape shape, c.Attr<PartialShape>("shape"));
  c.set_output(0, std::move(shape));
  return OkStatus();
}

Status BinaryShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape shape, BroadcastShapes(c.input(0), c.input(1)));
  c.set_output(0, std::move(shape));
  return OkStatus();
}

void DefineTestOp(OpRegistry& ops, std::string name) {
  OpDef def;
  def.name = std::move(name);
  def.outputs.push_back({.name = "y", .type = DType::kFloat});
  def.is_stateful = true;
  CHECK(ops.Define(std::move(def), nullptr, nullptr).ok());
}

class FixtureDevice : public Device {
 public:
  FixtureDevice(DeviceName name, uint64_t incarnation, AllocatorPtr allocator)
      : Device(std::move(name), incarnation), allocator_(std::move(allocator)) {}
  Allocator& allocator() override { return *allocator_; }
  Allocator& host_allocator() override { return *allocator_; }
  void CopyToHost(const Tensor& tensor, CopyDone done) override { done(tensor); }
  void CopyFromHost(const Tensor& tensor, CopyDone done) override { done(tensor); }

 private:
  const AllocatorPtr allocator_;
};

Result<std::vector<std::unique_ptr<Device>>> MakeFixtureDevices(const DeviceRequest& request) {
  std::vector<std::unique_ptr<Device>> devices;
  for (int i = 0; i < request.cpu_devices; ++i) {
    ASSIGN_OR_RETURN(DeviceName name, DeviceName::Parse(StrCat("/job:", request.job,
                                                               "/replica:0/task:", request.task,
                                                               "/device:CPU:", i)));
    devices.push_back(
        std::make_unique<FixtureDevice>(name, request.incarnation, request.host_allocator));
  }
  return devices;
}

EnvironmentOptions WithSink(EnvironmentOptions options, LogSink* sink) {
  if (options.log_sink == nullptr) {
    options.log_sink = sink;
    options.log_level = LogLevel::kInfo;
  }
  return options;
}

}  // namespace

void LinesSink::Write(LogLevel level, std::string_view message) {
  MutexLock lock(mutex_);
  lines_.push_back(StrCat(LogLevelName(level), ": ", message));
}

std::vector<std::string> LinesSink::lines() const {
  MutexLock lock(mutex_);
  return lines_;
}

std::atomic<int>& ArithmeticCalls() {
  static std::atomic<int> calls{0};
  return calls;
}

Registries TestRegistries() {
  Registries registries;
  KernelRegistry& k = *registries.kernels;
  k.AddFunction<AddFloat>("Add", kCpu, {{"T", DType::kFloat}});
  k.AddFunction<MulFloat>("Mul", kCpu, {{"T", DType::kFloat}});
  k.AddFunction<NegFloat>("Neg", kCpu, {{"T", DType::kFloat}});
  k.AddFunction<LessFloat>("Less", kCpu, {{"T", DType::kFloat}});
  k.AddFunction<Forward>("Identity", kCpu);
  k.AddFunction<Nothing>("NoOp", kCpu);
  k.Add<VariableKernel>("VariableV2", kCpu);
  k.AddFunction<AssignFloat>("Assign", kCpu, {{"T", DType::kFloat}});
  k.AddFunction<AssignAddFloat>("AssignAdd", kCpu, {{"T", DType::kFloat}});
  k.Add<SendKernel>("_Send", kCpu);
  k.Add<RecvKernel>("_Recv", kCpu);
  k.Add<CountKernel>("TestCount", kCpu).KeepsState();
  k.Add<WaitKernel>("TestWait", kCpu);
  k.AddFunction<Fail>("TestFail", kCpu);
  for (const char* name : {"TestCount", "TestWait", "TestFail", "TestNoKernel"}) {
    DefineTestOp(*registries.ops, name);
  }
  registries.ops->Op("Add").Shape(BinaryShape);
  registries.ops->Op("Mul").Shape(BinaryShape);
  registries.ops->Op("Neg").Shape(UnchangedShape);
  registries.ops->Op("Placeholder").Shape(PlaceholderShape);
  registries.devices = {MakeFixtureDevices};
  return registries;
}

SessionFixture::SessionFixture(EnvironmentOptions environment_options, SessionOptions options)
    : environment(
          *Environment::Create(WithSink(std::move(environment_options), &log), TestRegistries())),
      graph(std::make_shared<Graph>(environment->shared_ops())),
      b(graph.get()),
      session(*MakeLocalSession(environment, graph, options)) {}

Result<std::vector<Tensor>> SessionFixture::Run(const std::vector<std::pair<Output, Tensor>>& feeds,
                                                const std::vector<Output>& fetches,
                                                const std::vector<Node*>& targets,
                                                const RunOptions& options, RunMetadata* metadata) {
  RETURN_IF_ERROR(b.status());
  Signature signature{{}, fetches, targets};
  std::vector<Tensor> values;
  for (const auto& [output, value] : feeds) {
    signature.feeds.push_back(output);
    values.push_back(value);
  }
  std::vector<Tensor> fetched(fetches.size());
  RETURN_IF_ERROR(session->Run(options, signature, values, fetched, metadata));
  return fetched;
}

}  // namespace thalweg
