// SPDX-License-Identifier: Apache-2.0
#include "thalweg/devices/fake/fake_kernel.h"

#include <algorithm>
#include <array>
#include <utility>

#include "thalweg/devices/fake/fake_device.h"
#include "thalweg/kernel/host_kernels.h"
#include "thalweg/kernel/memory_kind.h"

namespace thalweg {
namespace {

class FakeKernel : public Kernel {
 public:
  FakeKernel(std::unique_ptr<Kernel> kernel, FakeDevice& device, NodeMemory memory)
      : kernel_(std::move(kernel)), device_(device), memory_(std::move(memory)) {}

  static Result<std::unique_ptr<Kernel>> Make(const KernelConstruction& c) {
    auto& device = static_cast<FakeDevice&>(c.device());
    ASSIGN_OR_RETURN(NodeMemory memory, NodeMemory::Of(c.node(), device.kernels(), kFake));
    ASSIGN_OR_RETURN(const KernelEntry* entry, device.kernels().Find(c.node(), kCpu));
    ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel,
                     entry->factory(KernelConstruction(c.node(), device.inside(), c.resources())));
    return std::unique_ptr<Kernel>(
        std::make_unique<FakeKernel>(std::move(kernel), device, std::move(memory)));
  }

  Status Compute(Context& ctx) override {
    RETURN_IF_ERROR(device_.lost());
    const int num_inputs = ctx.num_inputs();
    std::vector<Tensor> values(static_cast<size_t>(num_inputs + ctx.num_outputs()));
    for (int i = 0; i < num_inputs; ++i) {
      ASSIGN_OR_RETURN(values[i], Readable(ctx.input(i), i));
    }
    RETURN_IF_ERROR(ComputeOnHost(*kernel_, ctx, device_.inside(), values));
    for (int o = 0; o < ctx.num_outputs(); ++o) {
      ASSIGN_OR_RETURN(Tensor output, Stored(ctx, values[num_inputs + o], o, values));
      ctx.set_output(o, std::move(output));
    }
    return OkStatus();
  }

 private:
  // The input for the kernel inside, which must be where the registration says.
  Result<Tensor> Readable(const Tensor& input, int i) const {
    const bool here = device_.Has(input);
    if (memory_.inputs[i] == MemoryKind::kHost) {
      if (!here) return input;
      return Internal("input ", i, " is to be in host memory and is in that of ",
                      device_.full_name());
    }
    if (here) return device_.Readable(input);
    return Internal("input ", i, " is to be in the memory of ", device_.full_name(),
                    " and is in the host's");
  }

  // What the kernel inside has made, where the registration says. An input that is handed on is
  // the input.
  Result<Tensor> Stored(const Context& ctx, const Tensor& made, int o,
                        const std::vector<Tensor>& values) const {
    if (made.empty()) return made;
    const bool to_host = memory_.outputs[o] == MemoryKind::kHost;
    if (to_host &&
        (made.kind() != Tensor::Kind::kBuffer || !device_.memory().IsReadable(made.raw_data()))) {
      return made;
    }
    if (to_host) return made.Clone(device_.host_allocator());
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      if (memory_.inputs[i] == MemoryKind::kDevice && made.SharesBufferWith(values[i]) &&
          made.raw_data() == values[i].raw_data() && made.dtype() == values[i].dtype() &&
          made.shape() == values[i].shape()) {
        return ctx.input(i);
      }
    }
    return device_.Store(made);
  }

  const std::unique_ptr<Kernel> kernel_;
  FakeDevice& device_;
  const NodeMemory memory_;
};

// Arguments that accelerators take from host memory: they decide shapes, not values.
constexpr auto kHostArguments = std::to_array<std::string_view>({
    "axis",         "begin",       "block_shape",       "concat_dim",   "crops",
    "depth",        "dim",         "dimension",         "dims",         "end",
    "filter_sizes", "input_sizes", "multiples",         "num_segments", "orig_input_shape",
    "paddings",     "perm",        "reduction_indices", "shape",        "shift",
    "size",         "size_splits", "split_dim",         "strides",
});
// Those that make shapes.
constexpr auto kShapeOps = std::to_array<std::string_view>({"Rank", "Shape", "ShapeN", "Size"});

// Of variables of resource type, which may hold what is in this memory.
constexpr auto kVariableOps = std::to_array<std::string_view>(
    {"AssignAddVariableOp", "AssignSubVariableOp", "AssignVariableOp", "DestroyResourceOp",
     "ReadVariableOp", "VarHandleOp", "VarIsInitializedOp", "VariableShape"});

bool IsOfVariables(std::string_view op) {
  return std::ranges::count(kVariableOps, op) > 0 || op.starts_with("ResourceApply") ||
         op.starts_with("ResourceSparseApply") || op.starts_with("ResourceScatter") ||
         op.starts_with("ResourceGather");
}

bool IsObject(DType dtype) {
  return dtype == DType::kString || dtype == DType::kResource || dtype == DType::kVariant;
}

bool TakesObjects(const OpDef& def) {
  const auto is_object = [](const ArgDef& arg) { return arg.is_ref || IsObject(arg.type); };
  return std::ranges::any_of(def.inputs, is_object) || std::ranges::any_of(def.outputs, is_object);
}

bool CallsFunctions(const OpDef& def) {
  return std::ranges::any_of(def.attrs, [](const AttrDef& attr) {
    return attr.kind == AttrValue::Kind::kFunction || attr.kind == AttrValue::Kind::kFunctionList;
  });
}

bool MayRunHere(const KernelEntry& entry, const OpDef& def) {
  if (entry.device_type != kCpu || entry.is_async || entry.op.starts_with('_')) return false;
  if (CallsFunctions(def)) return false;
  if (IsOfVariables(entry.op)) return true;
  if (TakesObjects(def)) return false;
  if (std::ranges::any_of(entry.types, [](const auto& type) { return IsObject(type.second); })) {
    return false;
  }
  // What keeps a random stream; other state is not known to stay out of this memory.
  return !def.is_stateful || entry.keeps_state;
}

std::vector<std::string> HostArguments(const OpDef& def) {
  std::vector<std::string> arguments;
  for (const ArgDef& input : def.inputs) {
    if (std::ranges::count(kHostArguments, input.name) > 0) arguments.push_back(input.name);
  }
  if (std::ranges::count(kShapeOps, def.name) > 0) arguments.emplace_back("output");
  return arguments;
}

}  // namespace

Status AddFakeKernels(const OpRegistry& ops, KernelRegistry& kernels) {
  const std::vector<const KernelEntry*> entries = kernels.Entries();
  if (std::ranges::any_of(entries, [](const auto* e) { return e->device_type == kFake; })) {
    return OkStatus();
  }
  RETURN_IF_ERROR(AddHostKernels(kernels, kFake));
  for (const KernelEntry* entry : entries) {
    const Result<const OpEntry*> op = ops.Find(entry->op);
    if (!op.ok() || !MayRunHere(*entry, (*op)->def)) continue;
    if (entry->op == "NoOp" || entry->op == "ControlTrigger") continue;
    KernelEntry own = *entry;
    own.device_type = kFake;
    own.factory = FakeKernel::Make;
    own.host_memory = HostArguments((*op)->def);
    RETURN_IF_ERROR(kernels.AddUserKernel(std::move(own)));
  }
  return AddCollectiveKernels(kernels, kFake);
}

}  // namespace thalweg
