// SPDX-License-Identifier: Apache-2.0
#include "thalweg/executor/held_values.h"

#include <algorithm>
#include <cstdio>

#include "thalweg/kernel/device.h"
#include "thalweg/resources/held_bytes.h"
#include "thalweg/resources/variable.h"
#include "thalweg/tensor/block_bytes.h"
#include "thalweg/tensor/traced_allocator.h"
#include "thalweg/tensor/uncounted_bytes.h"

namespace thalweg {
namespace {

constexpr size_t kMostListed = 10;
// Where the list begins.
constexpr std::string_view kHeldWords = "\nwhat held the memory";

// The one that has the limit.
const Allocator* LimitedAllocator(const Allocator* allocator) {
  const auto* const traced = dynamic_cast<const TracedAllocator*>(allocator);
  return traced == nullptr ? allocator : &traced->inner();
}

std::string HeldBytesWords(int64_t bytes) {
  const char* unit = "kB";
  double value = static_cast<double>(bytes) / 1e3;
  for (const char* const larger : {"MB", "GB"}) {
    if (value < 999.95) break;
    value /= 1e3;
    unit = larger;
  }
  char text[40];
  std::snprintf(text, sizeof(text), bytes < 1000 ? "%.0f B" : "%.1f %s",
                bytes < 1000 ? static_cast<double>(bytes) : value, unit);
  return text;
}

// Who writes where, as far as the code tells.
class Writers {
 public:
  Writers(const Plan& plan, uint32_t base, size_t places)
      : plan_(plan), base_(base), nodes_(places, -1), is_made_(places) {}

  // Registers of loops lie behind those of the code around them, from `window` on.
  void Walk(uint32_t begin, uint32_t end, uint32_t window, const FrameCode& frame) {
    for (uint32_t pc = begin; pc < end && pc < plan_.code.size(); ++pc) {
      const Instr& instr = plan_.code[pc];
      const uint32_t* const words = plan_.words.data() + instr.words;
      const auto operand = [&](uint32_t i) { return Operand{words[i]}; };
      switch (instr.opcode) {
        case Opcode::kKernel:
        case Opcode::kKernelRelease:
        case Opcode::kKernelTexts:
        case Opcode::kKernelAlways:
        case Opcode::kAsync:
          for (uint32_t o = 0; o < instr.outputs; ++o) {
            Note(operand(instr.inputs + o), window, instr, true);
          }
          break;
        case Opcode::kForward:
          // A copy for a reader, whose node it has; slots are added with their own.
          if (base_ == kRegisters && operand(0).base() == kSlots) break;
          Note(operand(1), window, instr, false);
          break;
        case Opcode::kReadReference:
          Note(operand(1), window, instr, false);
          break;
        case Opcode::kSwitch:
          Note(operand(2), window, instr, false);
          Note(operand(3), window, instr, false);
          break;
        case Opcode::kSendMerge:
        case Opcode::kSendNext:
          if (base_ == kSlots && words[1] < frame.merges.size() &&
              frame.merges[words[1]].slot != kNone) {
            Note(Operand::Make(kSlots, frame.merges[words[1]].slot), 0, instr, false);
          }
          break;
        case Opcode::kLoop: {
          const LoopCode& loop = plan_.loops[instr.aux];
          Walk(loop.condition.begin, loop.condition.end, window + loop.window, frame);
          Walk(loop.body.begin, loop.body.end, window + loop.window, frame);
          for (const LoopCode::Leave& leave : loop.exits) {
            if (leave.to != kNone) Note(Operand{leave.to}, window, instr, false);
          }
          break;
        }
        default:
          break;
      }
    }
  }
  int NodeOf(size_t place) const { return nodes_[place]; }

 private:
  // What makes a value counts more than what hands it on.
  void Note(Operand to, uint32_t window, const Instr& instr, bool makes) {
    if (to.v == kNone || to.base() != base_) return;
    const size_t place = to.index() + (base_ == kRegisters ? window : 0);
    if (place >= nodes_.size() || (is_made_[place] && !makes)) return;
    nodes_[place] = static_cast<int>(instr.node);
    is_made_[place] = makes;
  }

  const Plan& plan_;
  const uint32_t base_;
  std::vector<int> nodes_;
  std::vector<bool> is_made_;
};

bool NamesVariable(const ProgramNode& node) {
  return node.op == "VariableV2" || node.op == "Variable" || node.op == "VarHandleOp";
}

}  // namespace

bool RanOutOfMemory(const Status& error) {
  // As AllocationError has it (tensor/allocator.cc).
  return error.code() == Code::kResourceExhausted &&
         error.message().find("out of memory: ") != std::string_view::npos &&
         error.message().find(kHeldWords) == std::string_view::npos;
}

bool HeldValues::Begin(const StepContext& context) {
  MutexLock lock(mutex_);
  if (allocator_ != nullptr) return false;
  allocator_ = LimitedAllocator(context.allocator);
  is_host_ = context.host_addressable;
  if (context.device != nullptr) device_ = context.device->full_name();
  stats_ = context.allocator->Stats();
  wanted_.store(true, std::memory_order_release);
  return true;
}

void HeldValues::AddRegisters(const Plan& plan, const Unit& unit, uint32_t pc,
                              const Tensor* registers) {
  Writers writers(plan, kRegisters, unit.registers);
  const bool is_inside = pc >= unit.begin && pc < unit.end;
  writers.Walk(unit.begin, is_inside ? pc + 1 : unit.end, 0, plan.frames[0]);
  MutexLock lock(mutex_);
  for (uint32_t i = 0; i < unit.registers; ++i) Add(registers[i], writers.NodeOf(i), false);
}

void HeldValues::AddSlots(const Plan& plan, uint32_t frame, const Tensor* slots) {
  const FrameCode& code = plan.frames[frame];
  Writers writers(plan, kSlots, code.num_slots);
  for (const Unit& unit : code.units) writers.Walk(unit.begin, unit.end, 0, code);
  for (const MergeCode& merge : code.merges) {
    writers.Walk(merge.section.begin, merge.section.end, 0, code);
  }
  MutexLock lock(mutex_);
  for (uint32_t i = 0; i < code.num_slots; ++i) Add(slots[i], writers.NodeOf(i), false);
}

void HeldValues::Add(const Tensor& value, int node, bool is_variable) {
  if (value.is_reference()) return AddResource(value, node);
  if (value.kind() != Tensor::Kind::kBuffer) return;
  const TensorBlock block = BlockOf(value);
  const bool counts = block.allocator != nullptr ? LimitedAllocator(block.allocator) == allocator_
                                                 : is_host_ && HasHostBlock(value);
  if (!counts || block.bytes == 0) return;
  const auto [found, is_new] = held_.try_emplace(block.address);
  Held& held = found->second;
  if (!is_new && (held.is_variable || (held.node >= 0 && !is_variable))) return;
  held = {static_cast<int64_t>(block.bytes), node, is_variable, value.dtype(), value.shape()};
}

void HeldValues::AddResource(const Tensor& value, int node) {
  const Tensor kept = HeldValue(*value.resource());
  if (!kept.empty()) Add(kept, node, true);
}

void HeldValues::AddVariables(const Program& program, const ResourceManager& resources) {
  for (size_t n = 0; n < program.nodes.size(); ++n) {
    const ProgramNode& node = program.nodes[n];
    if (!NamesVariable(node)) continue;
    const Result<RefPtr<Variable>> variable = resources.Lookup<Variable>("", node.name);
    if (!variable.ok()) continue;
    const Tensor kept = (*variable)->ReadOrEmpty();
    if (!kept.empty()) Add(kept, static_cast<int>(n), true);
  }
}

std::string HeldValues::Words(const Program& program) const {
  std::vector<const Held*> largest;
  int64_t total = 0;
  for (const auto& [address, held] : held_) {
    largest.push_back(&held);
    total += held.bytes;
  }
  std::sort(largest.begin(), largest.end(), [](const Held* a, const Held* b) {
    return a->bytes != b->bytes ? a->bytes > b->bytes : a->node < b->node;
  });
  std::string words = StrCat(
      kHeldWords, device_.empty() ? "" : " of ", device_, ": ", HeldBytesWords(stats_.bytes_in_use),
      " of ", HeldBytesWords(stats_.limit), " in use, at most ",
      HeldBytesWords(stats_.peak_bytes_in_use), " before; known are ", HeldBytesWords(total),
      " in ", largest.size(), largest.size() == 1 ? " tensor" : " tensors, the largest first");
  int64_t others = 0;
  for (size_t i = 0; i < largest.size(); ++i) {
    const Held& held = *largest[i];
    if (i >= kMostListed) {
      others += held.bytes;
      continue;
    }
    words += StrCat("\n\t", HeldBytesWords(held.bytes), " ", held.dtype, held.shape, " of ");
    if (held.node < 0) {
      words += "a loop or a call";
      continue;
    }
    const ProgramNode& node = program.nodes[static_cast<size_t>(held.node)];
    words += StrCat(held.is_variable ? "variable " : "", node.Label());
    if (!node.site.empty()) words += StrCat(" (created at ", node.site, ")");
  }
  if (largest.size() > kMostListed) {
    words += StrCat("\n\t", HeldBytesWords(others), " in ", largest.size() - kMostListed, " more");
  }
  return words;
}

Status HeldValues::Explain(const Status& error, const Program& program,
                           const ResourceManager* resources) {
  MutexLock lock(mutex_);
  std::string words;
  if (RanOutOfMemory(error)) {
    if (resources != nullptr) AddVariables(program, *resources);
    words = Words(program);
  }
  held_.clear();
  device_.clear();
  allocator_ = nullptr;
  wanted_.store(false, std::memory_order_release);
  return Status(error.code(), StrCat(error.message(), words));
}

}  // namespace thalweg
