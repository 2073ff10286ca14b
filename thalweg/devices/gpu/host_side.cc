// SPDX-License-Identifier: Apache-2.0
// Kernels of the CPU that the device takes over: those that hand values on without a look at an
// element, and those of 32-bit integers, which are sizes and indices and stay in host memory.
#include <algorithm>
#include <array>

#include "thalweg/devices/gpu/gpu_kernel.h"
#include "thalweg/devices/gpu/register_kernels.h"
#include "thalweg/kernel/host_kernels.h"

namespace thalweg {
namespace {

Result<std::unique_ptr<Kernel>> MakeOfCpu(const KernelConstruction& c) {
  const KernelRegistry* const kernels = GpuOf(c).kernels();
  if (kernels == nullptr) return Internal("the device was made without a registry of kernels");
  ASSIGN_OR_RETURN(const KernelEntry* entry, kernels->Find(c.node(), kCpu));
  return entry->factory(c);
}

class HostSideKernel : public Kernel {
 public:
  explicit HostSideKernel(std::unique_ptr<Kernel> kernel) : kernel_(std::move(kernel)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel, MakeOfCpu(c));
    return std::unique_ptr<Kernel>(std::make_unique<HostSideKernel>(std::move(kernel)));
  }
  Status Compute(Context& ctx) override {
    const auto inputs = static_cast<size_t>(ctx.num_inputs());
    std::vector<Tensor> values(inputs + static_cast<size_t>(ctx.num_outputs()));
    for (int i = 0; i < ctx.num_inputs(); ++i) values[static_cast<size_t>(i)] = ctx.input(i);
    RETURN_IF_ERROR(ComputeOnHost(*kernel_, ctx, ctx.device(), values));
    for (int i = 0; i < ctx.num_outputs(); ++i) {
      ctx.set_output(i, std::move(values[inputs + static_cast<size_t>(i)]));
    }
    return OkStatus();
  }

 private:
  const std::unique_ptr<Kernel> kernel_;
};

// The elements of input 0 under another shape, which the CPU's kernel says of a tensor that has the
// input's type and shape, and no elements to look at. A scalar is a block of its own: one that
// shares the elements would be read into its handle.
class ShapeChangeKernel : public Kernel {
 public:
  explicit ShapeChangeKernel(std::unique_ptr<Kernel> kernel) : kernel_(std::move(kernel)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel, MakeOfCpu(c));
    return std::unique_ptr<Kernel>(std::make_unique<ShapeChangeKernel>(std::move(kernel)));
  }
  Status Compute(Context& ctx) override {
    static constexpr uint64_t kNothing = 0;
    const Tensor& x = ctx.input(0);
    std::vector<Tensor> values(static_cast<size_t>(ctx.num_inputs() + ctx.num_outputs()));
    values[0] = Tensor::FromBuffer(x.dtype(), x.shape(), const_cast<uint64_t*>(&kNothing), [] {});
    for (int i = 1; i < ctx.num_inputs(); ++i) values[static_cast<size_t>(i)] = ctx.input(i);
    RETURN_IF_ERROR(ComputeOnHost(*kernel_, ctx, ctx.device(), values));
    const Shape shape = values.back().shape();
    if (!shape.IsScalar()) {
      ASSIGN_OR_RETURN(Tensor reshaped, x.Reshaped(shape));
      ctx.set_output(0, std::move(reshaped));
      return OkStatus();
    }
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, x.dtype(), shape));
    return GpuOf(ctx).queue().Copy(x, *y);
  }

 private:
  const std::unique_ptr<Kernel> kernel_;
};

// Of the device's types: values are handed on as they are.
constexpr auto kHandedOn = std::to_array<std::string_view>(
    {"Identity", "Snapshot", "StopGradient", "PreventGradient", "PlaceholderWithDefault"});
constexpr auto kShapeChanges =
    std::to_array<std::string_view>({"Reshape", "ExpandDims", "Squeeze"});

// Of any type: only the shape of "input" is looked at.
constexpr auto kShapeOps = std::to_array<std::string_view>({"Rank", "Shape", "ShapeN", "Size"});

// Whatever their types: arguments and results are the host's.
constexpr auto kOfSizes = std::to_array<std::string_view>(
    {"BroadcastGradientArgs", "ConcatOffset", "InvertPermutation", "BroadcastArgs"});

// Of int32: as kOfSizes.
constexpr auto kOfInt32 = std::to_array<std::string_view>(
    {"Abs",          "Add",          "AddN",     "AddV2",     "Concat",   "ConcatV2",  "Equal",
     "ExpandDims",   "Fill",         "FloorDiv", "FloorMod",  "Gather",   "GatherV2",  "Greater",
     "GreaterEqual", "Identity",     "Less",     "LessEqual", "Max",      "Maximum",   "Min",
     "Minimum",      "Mul",          "Neg",      "NotEqual",  "OnesLike", "Pack",      "Prod",
     "Range",        "RealDiv",      "Reshape",  "Select",    "SelectV2", "Slice",     "Square",
     "Squeeze",      "StridedSlice", "Sub",      "Sum",       "Tile",     "Transpose", "Unpack",
     "ZerosLike"});

// Of indices: as kOfSizes.
constexpr auto kOfIndices = std::to_array<std::string_view>({"Unique", "UniqueWithCounts"});

// Of variables that live on the device: value is the device's.
constexpr auto kVariableOps = std::to_array<std::string_view>(
    {"DestroyResourceOp", "ReadVariableOp", "VarHandleOp", "VarIsInitializedOp", "VariableShape"});

constexpr auto kDeviceTypes = std::to_array<DType>({DType::kFloat, DType::kInt64, DType::kBool});

template <class List>
bool Has(const List& list, std::string_view op) {
  return std::ranges::find(list, op) != list.end();
}

// All arguments that are numbers, but for one.
std::vector<std::string> HostArguments(const OpDef& def, std::string_view but = "") {
  std::vector<std::string> arguments;
  for (const auto* list : {&def.inputs, &def.outputs}) {
    for (const ArgDef& argument : *list) {
      if (argument.name != but) arguments.push_back(argument.name);
    }
  }
  return arguments;
}

class HostSideAdder {
 public:
  HostSideAdder(const OpRegistry& ops, KernelAdder& adder) : ops_(ops), adder_(adder) {}

  void Add(const KernelEntry& of_cpu) {
    const std::string_view op = of_cpu.op;
    const Result<const OpEntry*> found = ops_.Find(of_cpu.op);
    if (!found.ok()) return;
    const OpDef& def = (*found)->def;
    if (Has(kShapeOps, op)) AddAs(of_cpu, of_cpu.types, HostArguments(def, "input"));
    if (Has(kOfSizes, op)) AddAs(of_cpu, of_cpu.types, HostArguments(def));
    if (Has(kVariableOps, op)) AddForVariables(of_cpu, def);
    if (Has(kOfInt32, op)) AddForInt32(of_cpu, def);
    if (Has(kOfIndices, op) && IsOfIndices(of_cpu)) AddAs(of_cpu, of_cpu.types, HostArguments(def));
  }
  // Those of which the CPU has one kernel for all types, or one for each.
  void AddHandedOn() {
    for (const DType dtype : kDeviceTypes) {
      for (const std::string_view op : kHandedOn) {
        const bool has_dtype = op == "PlaceholderWithDefault";
        adder_.Add(op, {{has_dtype ? "dtype" : "T", dtype}}, HostSideKernel::Create);
      }
      for (const std::string_view op : kShapeChanges) {
        std::vector<std::string> host;
        if (op != "Squeeze") host = {op == "Reshape" ? "shape" : "dim"};
        adder_.Add(op, {{"T", dtype}}, ShapeChangeKernel::Create, std::move(host));
      }
    }
  }

 private:
  using TypeList = KernelAdder::TypeList;

  void AddAs(const KernelEntry& of_cpu, TypeList types, std::vector<std::string> host) {
    KernelEntry own = of_cpu;
    own.types = std::move(types);
    own.factory = HostSideKernel::Create;
    own.host_memory = std::move(host);
    adder_.Add(std::move(own));
  }
  void AddForVariables(const KernelEntry& of_cpu, const OpDef& def) {
    const bool has_dtype = of_cpu.op == "ReadVariableOp" || of_cpu.op == "VarHandleOp";
    std::vector<std::string> host = HostArguments(def, "value");
    std::erase_if(host,
                  [](const std::string& name) { return name == "resource" || name == "input"; });
    if (!has_dtype) return AddAs(of_cpu, of_cpu.types, std::move(host));
    for (const DType dtype : {DType::kFloat, DType::kInt64})
      AddAs(of_cpu, {{"dtype", dtype}}, host);
  }
  static bool IsOfIndices(const KernelEntry& of_cpu) {
    return std::ranges::all_of(of_cpu.types, [](const auto& type) {
      return type.second == DType::kInt32 || type.second == DType::kInt64;
    });
  }
  void AddForInt32(const KernelEntry& of_cpu, const OpDef& def) {
    const bool of_range = of_cpu.op == "Range";
    const std::string attr = of_range ? "Tidx" : of_cpu.op.starts_with("Gather") ? "Tparams" : "T";
    TypeList types = of_cpu.types;
    const auto own = std::ranges::find_if(types, [&](const auto& t) { return t.first == attr; });
    if (own == types.end()) {
      types.emplace_back(attr, DType::kInt32);
    } else if (own->second != DType::kInt32) {
      return;
    }
    AddAs(of_cpu, std::move(types), HostArguments(def));
  }

  const OpRegistry& ops_;
  KernelAdder& adder_;
};

}  // namespace

void AddHostSideKernels(const OpRegistry& ops, KernelAdder& adder) {
  HostSideAdder host_side(ops, adder);
  for (const KernelEntry* entry : adder.registry().Entries()) {
    if (entry->device_type == kCpu && !entry->is_async && !entry->keeps_state) {
      host_side.Add(*entry);
    }
  }
  host_side.AddHandedOn();
}

}  // namespace thalweg
