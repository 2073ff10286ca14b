// SPDX-License-Identifier: Apache-2.0
#include "thalweg/testing/kernel_trial.h"

#include <algorithm>
#include <set>

#include "thalweg/base/notification.h"
#include "thalweg/base/str_cat.h"
#include "thalweg/base/work_queue.h"
#include "thalweg/graph/graph_builder.h"
#include "thalweg/kernel/local_rendezvous.h"
#include "thalweg/resources/variable.h"
#include "thalweg/testing/limited_allocator.h"
#include "thalweg/testing/registries.h"
#include "thalweg/testing/writing_operations.h"

namespace thalweg {
namespace {

class TrialDevice final : public Device {
 public:
  explicit TrialDevice(int64_t limit)
      : Device(*DeviceName::Parse("/job:localhost/replica:0/task:0/device:CPU:0"), 1),
        allocator_(limit) {}
  Allocator& allocator() override { return allocator_; }
  Allocator& host_allocator() override { return allocator_; }
  void CopyToHost(const Tensor& tensor, CopyDone done) override { done(tensor); }
  void CopyFromHost(const Tensor& tensor, CopyDone done) override { done(tensor); }

 private:
  LimitedAllocator allocator_;
};

class TrialWork final : public compute::Work {
 public:
  explicit TrialWork(Allocator& allocator)
      : Work(compute::GetIsaTable(compute::BestIsaLevel())), allocator_(allocator) {}
  void ParallelFor(int64_t shards, ShardFn fn, void* context) override {
    for (int64_t s = 0; s < shards; ++s) fn(context, s);
  }
  void* AllocateScratch(size_t bytes) override { return allocator_.Allocate(bytes); }
  void FreeScratch(void* block, size_t bytes) override { allocator_.Deallocate(block, bytes); }

 private:
  Allocator& allocator_;
};

struct EndSink final : DoneSink {
  void OnDone(uint64_t, Status s) override {
    status = std::move(s);
    ended.Notify();
  }
  Status status;
  Notification ended;
};

// Everything that one call of a kernel needs.
struct TrialStep {
  explicit TrialStep(int64_t memory_limit) : device(memory_limit), work(device.allocator()) {
    context.step_id = 1;
    context.device = &device;
    context.allocator = &device.allocator();
    context.work = &work;
    context.queue = &queue;
    context.cancellation = &cancellation;
    context.rendezvous = &rendezvous;
    context.resources = &resources;
    context.step_resources = &step_resources;
  }
  // Waiting kernels are cancelled. They may end in threads of their own, and use the step until
  // then: one that never ends hangs the trial, which the caller bounds.
  Status Compute(Kernel& kernel, Context& call) {
    AsyncKernel* async = kernel.AsAsync();
    if (async == nullptr) return kernel.Compute(call);
    async->ComputeAsync(call, Done(&end, 0));
    if (!end.ended.HasBeenNotified()) {
      rendezvous.Abort(Cancelled("the trial is over"));
      cancellation.Cancel(Cancelled("the trial is over"));
    }
    end.ended.Wait();
    return end.status;
  }

  TrialDevice device;
  TrialWork work;
  InlineQueue queue;
  CancellationManager cancellation;
  LocalRendezvous rendezvous;
  ResourceManager resources;
  ResourceManager step_resources;
  StepContext context;
  EndSink end;
};

template <class T>
T AttrOr(const AttrMap& attrs, std::string_view name, T otherwise) {
  const AttrValue* value = attrs.Find(name);
  if (value == nullptr) return otherwise;
  Result<T> read = value->Get<T>();
  return read.ok() ? std::move(*read) : std::move(otherwise);
}

using Names = std::set<std::string_view>;

// What arguments of these names want, in most operations. They get it more often than not.
const Names& Scalars() {
  static const Names kNames = {
      "alg",          "alpha",       "axis",      "batch_dim",   "beta",
      "beta1",        "beta1_power", "beta2",     "beta2_power", "concat_dim",
      "delta",        "depth",       "dim",       "epsilon",     "forget_bias",
      "global_step",  "index",       "k",         "l1",          "l2",
      "l2_shrinkage", "limit",       "logbase",   "lr",          "max_output_size",
      "momentum",     "n",           "num",       "num_lower",   "num_segments",
      "num_upper",    "on_value",    "off_value", "output_dim0", "rho",
      "seq_len_max",  "sign_decay",  "size",      "split_dim",   "start",
      "stop"};
  return kNames;
}

const Names& Lists() {
  static const Names kNames = {"begin",
                               "block_shape",
                               "counts",
                               "dims",
                               "end",
                               "filter_sizes",
                               "input_sizes",
                               "key",
                               "multiples",
                               "orig_input_shape",
                               "orig_input_tensor_shape",
                               "perm",
                               "reduction_indices",
                               "seed",
                               "segment_ids",
                               "shape",
                               "size_splits",
                               "sizes",
                               "slice_index",
                               "strides",
                               "counter",
                               "dense_shape",
                               "output_shape"};
  return kNames;
}

const Names& Channels() {
  static const Names kNames = {
      "b",        "beta", "bias", "gamma", "m",    "mean", "offset",          "scale",          "v",
      "variance", "wcf",  "wci",  "wco",   "b_ru", "b_c",  "reserve_space_1", "reserve_space_2"};
  return kNames;
}

// The rank of most inputs of the operation; -1 when its name does not say.
int LikelyRank(std::string_view op) {
  for (const std::string_view part : {"3D", "Volume"}) {
    if (op.find(part) != op.npos) return 5;
  }
  for (const std::string_view part : {"2D", "2d", "Pool", "BatchNorm", "Image", "Depth", "Space"}) {
    if (op.find(part) != op.npos) return 4;
  }
  for (const std::string_view part : {"LSTM", "GRU", "Matrix", "MatMul", "Sampler", "Sparse"}) {
    if (op.find(part) != op.npos) return 2;
  }
  return -1;
}

// A shape that has something to do with the one that all inputs of the trial are drawn from.
Shape ChooseShape(const Shape& base, std::string_view name, Choices& choices) {
  if (choices.Chance(70)) {
    if (Scalars().contains(name)) return Shape();
    if (name == "seed") return Shape{2};
    if (name == "paddings" || name == "crops") return Shape{base.rank(), 2};
    if (Lists().contains(name)) return Shape{base.rank()};
    if (Channels().contains(name) && base.rank() > 0) return Shape{base.dim(base.rank() - 1)};
  }
  const size_t way = choices.Below(16);
  const auto begin = base.dims().begin();
  const auto end = base.dims().end();
  if (way == 10) return Shape();
  if (way == 11 && base.rank() > 0) return Shape{base.dim(base.rank() - 1)};
  if (way == 12 && base.rank() > 0) return Shape{base.dim(0)};
  if (way == 13 && base.rank() > 0) {
    Dims dims;
    for (auto it = begin; it != end - 1; ++it) dims.push_back(*it);
    return Shape(std::move(dims));
  }
  return way > 13 ? RandomShape(choices) : base;
}

Tensor ShapeAsTensor(const Shape& shape, DType dtype) {
  const std::vector<int64_t> wide(shape.dims().begin(), shape.dims().end());
  const std::vector<int32_t> narrow(wide.begin(), wide.end());
  return dtype == DType::kInt64 ? Tensor::Of<int64_t>(wide, Shape{shape.rank()})
                                : Tensor::Of<int32_t>(narrow, Shape{shape.rank()});
}

std::vector<DType> TypesOf(const ArgDef& arg, const AttrMap& attrs) {
  if (!arg.type_list_attr.empty()) {
    return AttrOr<std::vector<DType>>(attrs, arg.type_list_attr, {});
  }
  const DType dtype =
      arg.type_attr.empty() ? arg.type : AttrOr(attrs, arg.type_attr, DType::kFloat);
  const int64_t count = arg.number_attr.empty() ? 1 : AttrOr<int64_t>(attrs, arg.number_attr, 1);
  return std::vector<DType>(static_cast<size_t>(count), dtype);
}

bool IsNumberOf(const std::vector<ArgDef>& args, const std::string& attr) {
  return std::any_of(args.begin(), args.end(),
                     [&](const ArgDef& arg) { return arg.number_attr == attr; });
}

}  // namespace

KernelTrials::KernelTrials(int64_t memory_limit) : memory_limit_(memory_limit) {
  auto registry = std::make_shared<OpRegistry>();
  RegisterAllOps(*registry);
  registry_ = std::move(registry);
  RegisterAllCpuKernels(kernels_);
  for (const KernelEntry* entry : kernels_.Entries()) {
    if (entry->device_type != kCpu || WritesOutside(entry->op)) continue;
    if (entries_.find(entry->op) == entries_.end()) ops_.push_back(entry->op);
    entries_.emplace(entry->op, entry);
  }
  std::sort(ops_.begin(), ops_.end());
}

AttrMap KernelTrials::ChooseAttrs(const OpDef& def, const KernelEntry& entry,
                                  Choices& choices) const {
  AttrMap attrs;
  const size_t percent_default = choices.Chance(50) ? 95 : 50;
  for (const AttrDef& attr : def.attrs) {
    if (IsNumberOf(def.inputs, attr.name) || IsNumberOf(def.outputs, attr.name)) {
      attrs.Set(attr.name, static_cast<int64_t>(attr.minimum + choices.Below(4)));
    } else {
      attrs.Set(attr.name, RandomAttr(choices, attr, percent_default));
    }
  }
  for (const auto& [name, dtype] : entry.types) attrs.Set(name, dtype);
  return attrs;
}

Tensor KernelTrials::ChooseInput(const ArgDef& arg, DType dtype, const AttrMap& attrs,
                                 const Shape& base, Choices& choices) const {
  const Shape shape = ChooseShape(base, arg.name, choices);
  const bool is_index = dtype == DType::kInt32 || dtype == DType::kInt64;
  if (is_index && shape == Shape{base.rank()} && choices.Chance(40))
    return ShapeAsTensor(base, dtype);
  if (!arg.is_ref && dtype != DType::kResource) return RandomTensor(choices, dtype, shape);
  if (dtype == DType::kResource) {
    dtype = AttrOr(attrs, "dtype", AttrOr(attrs, "T", DType::kFloat));
    if (choices.Chance(5)) return RandomTensor(choices, DType::kResource, shape);
  }
  RefPtr<Variable> variable = RefPtr<Variable>::Adopt(
      std::make_unique<Variable>(
          "v", dtype, choices.Chance(50) ? PartialShape(shape) : RandomPartialShape(choices))
          .release());
  if (!choices.Chance(5)) {
    const Status ignored = variable->Assign(RandomTensor(choices, dtype, shape));
    static_cast<void>(ignored);  // of another shape than declared: it stays uninitialized
  }
  auto resource = RefPtr<Resource>::Share(variable.get());
  return arg.is_ref ? Tensor::Reference(std::move(resource), dtype)
                    : Tensor::Scalar(ResourceHandle({}, std::move(resource)));
}

Status KernelTrials::AddInputs(const OpDef& def, const AttrMap& attrs, Graph& graph,
                               Choices& choices, Inputs* inputs) const {
  GraphBuilder b(&graph);
  const Shape base = RandomShape(choices, choices.Chance(70) ? LikelyRank(def.name) : -1);
  const size_t known = choices.Below(4);  // shapes, ranks, nothing, values
  for (const ArgDef& arg : def.inputs) {
    for (const DType dtype : TypesOf(arg, attrs)) {
      Tensor value = ChooseInput(arg, dtype, attrs, base, choices);
      const DType type = value.dtype();
      PartialShape shape;
      if (!value.is_reference() && known != 2) shape = value.shape();
      if (!value.is_reference() && known == 1) shape = PartialShape::OfRank(value.rank());
      if (arg.is_ref) {
        inputs->sources.push_back(b.Op("VariableV2", {}, {{"dtype", type}, {"shape", shape}}));
      } else if (known == 3 && type != DType::kResource && type != DType::kVariant) {
        inputs->sources.push_back(b.Const(value));
      } else {
        inputs->sources.push_back(b.Op("Placeholder", {}, {{"dtype", type}, {"shape", shape}}));
      }
      inputs->values.push_back(std::move(value));
    }
  }
  return b.status();
}

std::string KernelTrials::Try(std::string_view op, std::span<const uint8_t> bytes) {
  Choices choices(bytes);
  const auto [first, last] = entries_.equal_range(op);
  if (first == last) return StrCat("no operation ", op);
  const OpDef& def = (*registry_->Find(op))->def;
  const auto way = static_cast<std::ptrdiff_t>(choices.Below(
      static_cast<size_t>(std::min<std::ptrdiff_t>(std::distance(first, last), 256))));
  NodeSpec spec;
  spec.name = "under_test";
  spec.op = op;
  spec.attrs = ChooseAttrs(def, *std::next(first, way)->second, choices);
  Graph graph(registry_);
  Inputs inputs;
  last_trial_ = StrCat(op, ": sources");
  if (!AddInputs(def, spec.attrs, graph, choices, &inputs).ok()) return "";
  spec.inputs = inputs.sources;
  last_trial_ = std::string(op);
  for (const auto& [name, value] : spec.attrs) {
    last_trial_ += StrCat(" ", name, "=", value.ToString());
  }
  for (const Tensor& value : inputs.values) {
    last_trial_ += value.is_reference() ? " (variable)" : " (" + value.ToString() + ")";
  }
  Result<Node*> node = graph.AddNode(std::move(spec));
  if (!node.ok()) {
    return node.status().message().empty() ? "an error without words" : "";
  }
  return Run(**node, std::move(inputs.values), choices.Chance(50));
}

std::string KernelTrials::Run(const Node& node, std::vector<Tensor> given, bool take) {
  TrialStep step(memory_limit_);
  std::vector<Tensor> inputs =
      std::move(given);  // variables may hold memory of the step: they go first
  Result<std::unique_ptr<Kernel>> kernel = kernels_.Make(node, step.device, step.resources);
  if (!kernel.ok()) return kernel.status().message().empty() ? "an error without words" : "";
  std::vector<Operand> operands;
  for (int i = 0; i < node.num_inputs(); ++i) {
    Tensor& value = inputs[static_cast<size_t>(i)];
    if (value.is_reference() && !node.input_is_ref(i)) return "";
    operands.push_back(Operand::Make(0, static_cast<uint32_t>(i), take));
  }
  std::vector<Tensor> outputs(static_cast<size_t>(node.num_outputs()));
  for (int i = 0; i < node.num_outputs(); ++i) {
    operands.push_back(Operand::Make(1, static_cast<uint32_t>(i)));
  }
  Context call;
  call.Bind(&step.context, 0);
  call.SetBase(0, inputs.data());
  call.SetBase(1, outputs.data());
  call.SetOperands(operands.data(), node.num_inputs(), node.num_outputs());
  const Status status = step.Compute(**kernel, call);
  if (!status.ok()) return status.message().empty() ? "an error without words" : "";
  ++num_results_;
  if (node.control() != Node::Control::kNone) return "";  // dead outputs
  for (int i = 0; i < node.num_outputs(); ++i) {
    const Tensor& value = outputs[static_cast<size_t>(i)];
    if (value.empty()) return StrCat("output ", i, " was not set");
    if (value.dtype() != node.output_type(i)) {
      return StrCat("output ", i, " is ", value.dtype(), ", inference promised ",
                    node.output_type(i));
    }
    if (!value.is_reference() && !node.output_shape(i).Admits(value.shape())) {
      return StrCat("output ", i, " has shape ", value.shape(), ", inference promised ",
                    node.output_shape(i));
    }
  }
  return "";
}

}  // namespace thalweg
