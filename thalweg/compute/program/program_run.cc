// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bitset>
#include <deque>

#include "thalweg/compute/program/program_tiles.h"
#include "thalweg/tensor/shape.h"

namespace thalweg::compute {
namespace {

using Flags = std::array<std::atomic<uint32_t>, EwProgram::kMostInstructions + 1>;

constexpr int kMostValues = EwProgram::kMostInputs + EwProgram::kMostInstructions;

int64_t Elements(std::span<const int64_t> dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  return n;
}

bool SameDims(std::span<const int64_t> a, std::span<const int64_t> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

// Without the ones in front: shapes that are walked alike.
std::span<const int64_t> Stripped(std::span<const int64_t> dims) {
  while (!dims.empty() && dims.front() == 1) dims = dims.subspan(1);
  return dims;
}

// What the flags of one plan say: the first instruction that failed.
Status StatusOf(const EwPlan& plan, const Flags& flags, int* failed) {
  for (size_t i = 1; i < plan.flag_instruction.size(); ++i) {
    const uint32_t flag = flags[i].load(std::memory_order_relaxed);
    if (flag == 0) continue;
    *failed = plan.flag_instruction[i];
    return StatusOfFlags(flag);
  }
  return OkStatus();
}

Status Run(Work& work, const EwPlan& plan, const EwWalk* walk, int64_t n, uint64_t scalars,
           std::span<const void* const> externals, std::span<void* const> outputs, int* failed) {
  Flags flags;
  const size_t count = plan.flag_instruction.size();
  for (size_t i = 0; i < count; ++i) flags[i].store(0, std::memory_order_relaxed);
  const std::span<std::atomic<uint32_t>> used(flags.data(), count);
  RETURN_IF_ERROR(walk != nullptr ? RunTiles(work, plan, *walk, externals, outputs, used)
                                  : RunFlatTiles(work, plan, n, scalars, externals, outputs, used));
  return StatusOf(plan, flags, failed);
}

}  // namespace

// Shapes of all values. Instructions whose results are walked alike form a group: one pass each,
// smaller ones first.
struct EwRun::General {
  struct Group {
    std::vector<int> values;
    int64_t elements = 0;
  };
  std::vector<Dims> dims;  // by value
  std::vector<int> group;  // by value; -1: an input
  std::vector<Group> groups;
  std::vector<int> order;

  void MakeGroups(int num_inputs) {
    group.assign(dims.size(), -1);
    for (size_t v = static_cast<size_t>(num_inputs); v < dims.size(); ++v) {
      size_t g = 0;
      while (
          g < groups.size() &&
          !SameDims(Stripped(dims[static_cast<size_t>(groups[g].values[0])]), Stripped(dims[v]))) {
        ++g;
      }
      if (g == groups.size()) groups.push_back({{}, Elements(dims[v])});
      groups[g].values.push_back(static_cast<int>(v));
      group[v] = static_cast<int>(g);
    }
    for (size_t g = 0; g < groups.size(); ++g) {
      if (groups[g].elements > 0) order.push_back(static_cast<int>(g));
    }
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
      return groups[static_cast<size_t>(a)].elements < groups[static_cast<size_t>(b)].elements;
    });
  }
};

EwRun::EwRun(const EwProgram& program, const IsaTable& isa, std::span<const Input> inputs)
    : program_(program), isa_(isa), inputs_(inputs) {}
EwRun::~EwRun() = default;

// All inputs have one shape, or are scalars of no higher rank, and no instruction is left with
// scalars alone.
bool EwRun::TryFlat() {
  const Input* leader = nullptr;
  scalars_ = 0;
  int scalar_rank = 0;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const auto dims = inputs_[i].dims;
    if (Elements(dims) == 1) {
      scalars_ |= uint64_t{1} << i;
      scalar_rank = std::max(scalar_rank, static_cast<int>(dims.size()));
    } else if (leader == nullptr) {
      leader = &inputs_[i];
    } else if (!SameDims(dims, leader->dims)) {
      return false;
    }
  }
  if (leader == nullptr) {
    if (scalar_rank > 0) return false;
    scalars_ = 0;
    return true;
  }
  if (scalar_rank > static_cast<int>(leader->dims.size())) return false;
  dims_ = Dims(leader->dims);
  if (scalars_ == 0) return true;
  std::bitset<kMostValues> scalar(scalars_);
  for (const EwInstruction& instruction : program_.instructions()) {
    bool all = true, any = false;
    for (int k = 0; k < instruction.num_operands(); ++k) {
      const bool one = scalar[instruction.operands[static_cast<size_t>(k)]];
      all &= one;
      any |= one;
    }
    if (all || (any && instruction.same_shape)) return false;
  }
  return true;
}

// Inputs broadcast together, and every instruction has all dimensions of the result.
bool EwRun::TryWhole() {
  constexpr int kMostRank = 32;
  int64_t sizes[kMostRank];
  uint32_t have[kMostValues];  // bit d: dimension d, from the right, is not 1
  int rank[kMostValues];
  uint32_t all = 0;
  std::fill_n(sizes, kMostRank, int64_t{1});
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const auto dims = inputs_[i].dims;
    if (dims.size() > kMostRank) return false;
    rank[i] = static_cast<int>(dims.size());
    have[i] = 0;
    for (size_t d = 0; d < dims.size(); ++d) {
      const int64_t own = dims[dims.size() - 1 - d];
      if (own == 1) continue;
      if (sizes[d] != 1 && sizes[d] != own) return false;
      sizes[d] = own;
      have[i] |= uint32_t{1} << d;
    }
    all |= have[i];
  }
  size_t value = inputs_.size();
  for (const EwInstruction& instruction : program_.instructions()) {
    have[value] = 0;
    rank[value] = 0;
    for (int k = 0; k < instruction.num_operands(); ++k) {
      const size_t from = instruction.operands[static_cast<size_t>(k)];
      const size_t first = instruction.operands[0];
      if (instruction.same_shape && (have[from] != have[first] || rank[from] != rank[first])) {
        return false;
      }
      have[value] |= have[from];
      rank[value] = std::max(rank[value], rank[from]);
    }
    if (have[value++] != all) return false;
  }
  const int result = rank[program_.outputs()[0]];
  for (int output : program_.outputs()) {
    if (rank[output] != result) return false;
  }
  int64_t elements = 1;
  dims_.resize(result);
  for (int d = 0; d < result; ++d) {
    dims_[result - 1 - d] = sizes[d];
    if (__builtin_mul_overflow(elements, sizes[d], &elements)) return false;
  }
  return true;
}

Status EwRun::InferShapes() {
  if (TryFlat()) {
    way_ = Way::kFlat;
    return OkStatus();
  }
  if (TryWhole()) {
    way_ = Way::kWhole;
    return OkStatus();
  }
  way_ = Way::kLevels;
  general_ = std::make_unique<General>();
  std::vector<Dims>& dims = general_->dims;
  for (const Input& input : inputs_) dims.emplace_back(input.dims);
  for (size_t i = 0; i < program_.instructions().size(); ++i) {
    const EwInstruction& instruction = program_.instructions()[i];
    const auto of = [&](size_t k) -> const Dims& { return dims[instruction.operands[k]]; };
    if (instruction.num_operands() == 1 || (instruction.num_operands() == 2 && of(0) == of(1))) {
      dims.push_back(Dims(of(0)));
      continue;
    }
    failed_ = static_cast<int>(i);
    if (instruction.same_shape) {
      return InvalidArgument("both inputs must have one shape, got ", Shape(of(0)).ToString(),
                             " and ", Shape(of(1)).ToString());
    }
    ASSIGN_OR_RETURN(const Broadcast broadcast, instruction.num_operands() == 2
                                                    ? Broadcast::Make({of(0), of(1)})
                                                    : Broadcast::Make({of(0), of(1), of(2)}));
    dims.push_back(broadcast.output_dims());
  }
  failed_ = -1;
  general_->MakeGroups(program_.num_inputs());
  return OkStatus();
}

const Dims& EwRun::output_dims(int output) const {
  if (way_ != Way::kLevels) return dims_;
  return general_->dims[static_cast<size_t>(program_.outputs()[static_cast<size_t>(output)])];
}

Status EwRun::Execute(Work& work, std::span<void* const> outputs) {
  if (way_ == Way::kLevels) return ExecuteLevels(work, outputs);
  const int64_t n = Elements(dims_);
  if (n == 0) return OkStatus();
  const void* externals[EwProgram::kMostInputs];
  for (size_t i = 0; i < inputs_.size(); ++i) externals[i] = inputs_[i].data;
  const std::span<const void* const> from(externals, inputs_.size());
  std::unique_ptr<EwPlan> own;
  if (way_ == Way::kFlat) {
    const EwPlan& plan = program_.PlanFor(isa_, scalars_, &own);
    return Run(work, plan, nullptr, n, scalars_, from, outputs, &failed_);
  }
  std::span<const int64_t> dims[EwProgram::kMostInputs];
  for (size_t i = 0; i < inputs_.size(); ++i) dims[i] = inputs_[i].dims;
  const EwWalk walk(dims_, {dims, inputs_.size()});
  uint64_t scalars = 0;
  for (int e = 0; e < walk.operands(); ++e) {
    if (walk.IsScalar(e)) scalars |= uint64_t{1} << e;
  }
  const EwPlan& plan = program_.PlanFor(isa_, scalars, &own);
  return Run(work, plan, &walk, n, 0, from, outputs, &failed_);
}

Status EwRun::ExecuteLevels(Work& work, std::span<void* const> outputs) {
  const General& g = *general_;
  const int inputs = program_.num_inputs();
  std::vector<const void*> data(g.dims.size());
  std::vector<void*> made(g.dims.size());  // where instructions write
  for (int i = 0; i < inputs; ++i) {
    data[static_cast<size_t>(i)] = inputs_[static_cast<size_t>(i)].data;
  }
  for (size_t o = 0; o < outputs.size(); ++o) {
    const auto value = static_cast<size_t>(program_.outputs()[o]);
    data[value] = made[value] = outputs[o];
  }
  std::deque<Scratch<char>> temporaries;
  for (int number : g.order) {
    EwPart part;
    std::vector<bool> listed(g.dims.size());
    const bool whole = g.groups.size() == 1;
    const auto read = [&](int value) {
      if (listed[static_cast<size_t>(value)]) return;
      listed[static_cast<size_t>(value)] = true;
      part.externals.push_back(value);
    };
    for (int i = 0; whole && i < inputs; ++i) read(i);
    for (int value : g.groups[static_cast<size_t>(number)].values) {
      const int id = value - inputs;
      part.instructions.push_back(id);
      const EwInstruction& instruction = program_.instructions()[static_cast<size_t>(id)];
      for (int k = 0; k < instruction.num_operands(); ++k) {
        const int from = instruction.operands[static_cast<size_t>(k)];
        if (g.group[static_cast<size_t>(from)] != number) read(from);
      }
    }
    // What later groups read is kept until the end.
    std::vector<bool> kept(g.dims.size());
    for (size_t id = 0; id < program_.instructions().size(); ++id) {
      const EwInstruction& instruction = program_.instructions()[id];
      const bool later = g.group[static_cast<size_t>(inputs) + id] != number;
      for (int k = 0; later && k < instruction.num_operands(); ++k) {
        kept[instruction.operands[static_cast<size_t>(k)]] = true;
      }
    }
    for (int value : g.groups[static_cast<size_t>(number)].values) {
      const auto v = static_cast<size_t>(value);
      if (made[v] == nullptr && kept[v]) {
        const auto size = static_cast<int64_t>(StorageTypeOf(program_.type(value)).size);
        Scratch<char>& memory =
            temporaries.emplace_back(work, g.groups[static_cast<size_t>(number)].elements * size);
        if (!memory) return OutOfScratch();
        data[v] = made[v] = memory.get();
      }
      if (made[v] != nullptr) part.outputs.push_back(value);
    }
    if (whole) part.outputs = program_.outputs();
    RETURN_IF_ERROR(ExecutePart(work, &part, whole, number, data, made));
  }
  return OkStatus();
}

Status EwRun::ExecutePart(Work& work, EwPart* part, bool whole, int group,
                          const std::vector<const void*>& data, const std::vector<void*>& made) {
  const General& g = *general_;
  std::vector<std::span<const int64_t>> dims;
  std::vector<const void*> externals;
  std::vector<void*> outputs;
  for (int value : part->externals) {
    dims.push_back(g.dims[static_cast<size_t>(value)]);
    externals.push_back(data[static_cast<size_t>(value)]);
  }
  for (int value : part->outputs) outputs.push_back(made[static_cast<size_t>(value)]);
  const int first = g.groups[static_cast<size_t>(group)].values[0];
  const EwWalk walk(Stripped(g.dims[static_cast<size_t>(first)]), dims);
  uint64_t scalars = 0;
  for (int e = 0; e < walk.operands(); ++e) {
    part->scalar.push_back(walk.IsScalar(e));
    if (whole && walk.IsScalar(e)) scalars |= uint64_t{1} << e;
  }
  std::unique_ptr<EwPlan> own;
  if (!whole) own = std::make_unique<EwPlan>(MakeEwPlan(program_, *part, isa_));
  const EwPlan& plan = whole ? program_.PlanFor(isa_, scalars, &own) : *own;
  return Run(work, plan, &walk, walk.elements(), 0, externals, outputs, &failed_);
}

}  // namespace thalweg::compute
