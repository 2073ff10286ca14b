// SPDX-License-Identifier: Apache-2.0
// CodeObject: code without loops before it has registers. Instructions read and write *locals*;
// Allocate() finds every local's last use and gives registers to those that need one, Write()
// appends to the plan.
//
//   CodeObject code(&plan);
//   int a = code.Fixed(kSlots, 3, true), r = code.Register(true);
//   code.Add({.opcode = Opcode::kForward, .reads = {a}, .writes = {r}});
//   code.Allocate();
//   code.Write(0, code.size());
//
// A conditional is two pieces of code one behind the other: BeginBranch(), the code for a true
// predicate, Else(), the other, EndBranch(). A value that ends inside ends on both ways.
// Ownership: appends to a plan that outlives it; kernels are the plan's.
// Threads: one at a time, while the plan is made.
// Errors: none; the lowered program was checked before.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "thalweg/executor/plan.h"

namespace thalweg {

struct Local {
  bool in_register = false;
  uint32_t base = kRegisters;
  uint32_t index = 0;
  bool owned =
      false;  // the last use here ends the value (for a shared slot: this reader's part of it)
  bool shared = false;      // a slot with a count of readers
  bool is_inline = false;   // a scalar in its handle: needs no release in a register
  bool is_pinned = false;   // the register is given and stays
  int last_use = -1;        // instruction
  int held = -1;            // until here, on any way
  int home = 0;             // the way it was made on
  bool ends_apart = false;  // on several ways
};

// Between two marks lies one way through a conditional.
enum class Mark : uint8_t { kNone, kBranch, kElse, kEnd };

struct AbstractInstr {
  Opcode opcode = Opcode::kForward;
  int node = 0;
  uint64_t aux = 0;
  Kernel* kernel = nullptr;
  std::vector<int> reads;
  std::vector<int> writes;  // -1: nowhere
  std::vector<uint32_t> extra;
  Mark mark = Mark::kNone;
};

class CodeObject {
 public:
  explicit CodeObject(Plan* plan) : plan_(plan) {}

  int Fixed(uint32_t base, uint32_t index, bool owned, bool shared = false);
  int Register(bool is_inline);
  // A register that keeps its number: what enters a loop.
  int Pinned(uint32_t index, bool owned);
  const Local& local(int id) const { return locals_[id]; }

  int Add(AbstractInstr instr);
  int size() const { return static_cast<int>(instrs_.size()); }
  // No read ends the local: something later needs it.
  void Keep(int local) { locals_[local].owned = false; }

  void BeginBranch(int node, int predicate);
  void Else(int node);
  // `held`: locals that are needed until here on both ways.
  void EndBranch(int node, std::vector<int> held);

  // By place, whether the read of instruction `at` is the one that ends its value.
  std::vector<bool> EndingReads(int at);

  // Appends instructions [from, to) to the plan; call once for each part, in order, after
  // Allocate().
  void Allocate(uint32_t first_register = 0);
  Section Write(int from, int to);
  uint32_t OperandOf(int local, bool last) const;
  uint32_t registers() const { return registers_; }
  // Loops in this code; their windows lie behind its registers.
  void SetWindows();
  uint32_t all_registers() const { return all_registers_; }

 private:
  // A way through a conditional; 0 is the code outside of any.
  struct Way {
    int parent = 0;
    int other = -1;          // of the same conditional
    int begin = 0;           // behind this instruction
    int end = 0;             // before this one
    std::vector<int> ended;  // locals of no more use on this way
  };
  bool EndsAt(int local, int instr) const {
    const Local& l = locals_[local];
    if (!l.owned) return false;
    return l.ends_apart ? ends_.contains({local, instr}) : l.last_use == instr;
  }
  void FindEnds();
  void EndOnEachWay(int local, std::span<const int> uses, int home);
  // Where a node has 10^5 inputs, no read may look at all others.
  void NotePlaces(const std::vector<int>& reads);
  void WriteMark(const AbstractInstr& instr, int index);
  bool NeedsRelease(int local) const {
    return !(locals_[local].in_register && locals_[local].is_inline);
  }
  void WriteOne(int index);
  void WriteRelease(const AbstractInstr& instr, const std::vector<int>& ended);
  void WriteOperands(const AbstractInstr& instr, int index, std::vector<int>* twice);

  Plan* plan_;
  std::vector<Local> locals_;
  std::vector<AbstractInstr> instrs_;
  std::vector<uint32_t> loops_;
  std::vector<Way> ways_ = {Way{}};
  std::vector<int> way_at_;  // by instruction
  int way_ = 0;
  std::set<std::pair<int, int>> ends_;  // of locals that end apart
  std::vector<uint32_t> open_;          // jumps that are written and lack their target
  // By local: the first and the last place where the instruction that is written reads it.
  std::vector<size_t> first_place_, last_place_;
  uint32_t registers_ = 0;
  uint32_t all_registers_ = 0;
};

}  // namespace thalweg
