// SPDX-License-Identifier: Apache-2.0
// Plan: a program compiled for running. Read-only once built; steps and threads share it.
//
// A frame has *units*, the things that are scheduled. A unit is straight-line code run by one
// thread: a basic block of cheap nodes, one heavy node, one asynchronous node, or the start of a
// general loop. A unit runs when its pending count, the number of signals it gets in an iteration,
// is zero. Merges and Exits are joins in the signal network: a *section* of emitting instructions
// runs when they fire. A structured loop is one instruction.
//
// Values lie in registers (of the thread, inside a unit), slots (of the iteration, between units),
// the frame's invariants or the step's feeds, and constants: bases 3, 0, 2 and 1 of an Operand.
// Ownership: owns its program, with the kernels that its code points at.
// Threads: one makes it; then reading from any.
// Errors: Compile: InvalidArgument for a program that cannot run (frames.h), those of `work`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "thalweg/base/work_budget.h"
#include "thalweg/executor/memory_plan.h"
#include "thalweg/executor/program.h"

namespace thalweg {

enum Base : uint32_t { kSlots = 0, kConstants = 1, kInvariants = 2, kRegisters = 3 };

inline constexpr uint32_t kNone = ~uint32_t{0};

// "in" is a value operand, "out" where a value goes or kNone. Words lie in Plan::words from
// Instr::words on.
enum class Opcode : uint8_t {
  kKernel,         // in..., out...           inputs that end here need no release
  kKernelRelease,  // in..., out...           inputs and outputs marked last are released
  kKernelTexts,    // in..., out...           as kKernelRelease; what strings hold is charged
  kKernelAlways,   // in..., out..., empty..., out...   as kKernelRelease; with the second list when
                   // dead
  kAsync,          // in..., out..., number, whether it is tried first (a WaitingKernel)
                   //                         the unit goes on behind this when the kernel has ended
  kForward,        // in, out
  kReadReference,  // in, out                 the value of the variable that a reference leads to
  kRelease,        // in...
  kSwitch,         // in, predicate, out 0, out 1, then the lengths of two sections that follow
  kLoop,           // in...                   a whole structured loop: Plan::loops[aux]
  kBranch,         // predicate               goes on behind this, or at code[aux] when false
  kJump,           //                         goes on at code[aux], which lies ahead
  kStartFrame,     // in...                   a general loop: Plan::frames[aux]
  kSignal,         // unit...
  kSignalLive,     // unit...                 alive whatever the sender is
  kSendMerge,      // in, merge, input number
  kSendNext,       // in, merge, input number, number of the NextIteration
  kSendExit,       // in, exit
};

struct Instr {
  union {
    Kernel* kernel;
    uint64_t aux;
  };
  uint32_t words;  // first word
  uint32_t inputs;
  uint32_t outputs : 24;
  Opcode opcode : 8;
  uint32_t node;  // in the program, for messages and traces
};
static_assert(sizeof(Instr) == 24);

enum class UnitClass : uint8_t { kBasicBlock, kHeavy, kAsync };

struct Unit {
  uint32_t begin = 0;  // in Plan::code
  uint32_t end = 0;
  uint32_t registers = 0;  // with those of loops in it
  int device = 0;
  UnitClass cls = UnitClass::kBasicBlock;
};

struct Section {
  uint32_t begin = 0;
  uint32_t end = 0;
};

struct MergeCode {
  uint32_t slot = kNone;        // of the value
  uint32_t index_slot = kNone;  // of the number of the input that came
  Section section;
};

// Runs in the parent's iteration.
struct ExitCode {
  uint32_t slot = kNone;
  Section section;
};

struct EnterCode {
  bool is_constant = false;
  uint32_t invariant = kNone;  // of a constant one
  struct Target {
    uint32_t merge;
    uint32_t input;
  };
  std::vector<Target> targets;  // of another
};

struct NextCode {
  uint32_t merge;
  uint32_t input;
};

struct FrameCode {
  std::string name;
  uint32_t parallel_iterations = 1;
  uint32_t num_slots = 0;
  uint32_t num_invariants = 0;
  uint32_t num_async = 0;
  std::vector<Unit> units;
  std::vector<MergeCode> merges;
  std::vector<EnterCode> enters;
  std::vector<ExitCode> exits;
  std::vector<NextCode> nexts;
  // Templates of an iteration's counters.
  std::vector<uint32_t> pending;         // signals, by unit
  std::vector<uint32_t> readers;         // units and sections that read a slot
  std::vector<uint32_t> first_arrivals;  // by merge: what can arrive in iteration 0
  std::vector<uint32_t> later_arrivals;  // and in later ones
  std::vector<uint32_t> initial;         // units that wait for nothing
  std::vector<uint32_t> never_later;     // merges that nothing can reach in later iterations
  // Units that are dead when an invariant is.
  std::vector<std::vector<uint32_t>> invariant_units;
};

struct LoopCode {
  std::string name;
  uint32_t window =
      0;  // registers of the loop begin here, counted from those of the code around it
  uint32_t registers = 0;      // its own
  uint32_t all_registers = 0;  // with loops in it
  uint32_t num_enters = 0;     // value i goes to register i
  uint32_t predicate = 0;      // operand
  Section condition, body;
  struct Move {
    uint32_t from;  // operand
    uint32_t to;    // register
  };
  std::vector<Move> moves;
  uint32_t staging =
      kNone;  // first of as many registers as moves, where a variable is also a source
  struct Leave {
    uint32_t from;  // operand inside
    uint32_t to;    // operand outside
  };
  std::vector<Leave> exits;
};

struct FetchCode {
  bool from_slot = false;
  bool last = false;  // may be moved out
  uint32_t operand = 0;
};

struct Plan {
  Program program;
  std::vector<Instr> code;
  std::vector<uint32_t> words;
  std::vector<Tensor> constants;  // 0 is empty
  std::vector<FrameCode> frames;  // 0 is the root; those of structured loops stay empty
  std::vector<LoopCode> loops;
  std::vector<FetchCode> fetches;
  uint32_t max_registers = 0;
  // Heavy units exist, so other threads can help.
  bool is_parallel = false;
};

struct CompileOptions {
  int threads = 0;
  bool basic_blocks = true;      // off: one node a unit
  bool structured_loops = true;  // off: every loop and conditional takes the general path
  WorkBudget* work = nullptr;    // null: without end
};

Result<Plan> Compile(Program program, const CompileOptions& options);

MemoryPlan PlanMemory(const Plan& plan, const OutputBytes& bytes);

}  // namespace thalweg
