// SPDX-License-Identifier: Apache-2.0
#include "thalweg/executor/codegen.h"

#include <algorithm>

namespace thalweg {
namespace {

bool IsKernel(Opcode opcode) {
  return opcode == Opcode::kKernel || opcode == Opcode::kKernelRelease ||
         opcode == Opcode::kKernelTexts || opcode == Opcode::kKernelAlways ||
         opcode == Opcode::kAsync;
}

}  // namespace

int CodeObject::Fixed(uint32_t base, uint32_t index, bool owned, bool shared) {
  locals_.push_back({.base = base, .index = index, .owned = owned, .shared = shared, .home = way_});
  return static_cast<int>(locals_.size()) - 1;
}

int CodeObject::Register(bool is_inline) {
  locals_.push_back({.in_register = true, .owned = true, .is_inline = is_inline, .home = way_});
  return static_cast<int>(locals_.size()) - 1;
}

int CodeObject::Pinned(uint32_t index, bool owned) {
  locals_.push_back({.in_register = true, .index = index, .owned = owned, .is_pinned = true});
  return static_cast<int>(locals_.size()) - 1;
}

int CodeObject::Add(AbstractInstr instr) {
  const int index = size();
  for (const int read : instr.reads) locals_[read].last_use = index;
  if (instr.opcode == Opcode::kLoop) loops_.push_back(static_cast<uint32_t>(instr.aux));
  instrs_.push_back(std::move(instr));
  way_at_.push_back(way_);
  return index;
}

// --- Conditionals

void CodeObject::BeginBranch(int node, int predicate) {
  const int way = static_cast<int>(ways_.size());
  const int at = Add({.opcode = Opcode::kBranch,
                      .node = node,
                      .aux = static_cast<uint64_t>(way),
                      .reads = {predicate},
                      .mark = Mark::kBranch});
  ways_.push_back({.parent = way_, .begin = at, .ended = {}});
  way_ = way;
}

void CodeObject::Else(int node) {
  const int way = static_cast<int>(ways_.size());
  const int at = Add({.opcode = Opcode::kJump,
                      .node = node,
                      .aux = static_cast<uint64_t>(way),
                      .mark = Mark::kElse});
  ways_[way_].end = at;
  ways_[way_].other = way;
  ways_.push_back({.parent = ways_[way_].parent, .other = way_, .begin = at, .ended = {}});
  way_ = way;
}

void CodeObject::EndBranch(int node, std::vector<int> held) {
  ways_[way_].end = size();
  way_ = ways_[way_].parent;
  Add({.opcode = Opcode::kRelease, .node = node, .reads = std::move(held), .mark = Mark::kEnd});
}

// Where each local has its last use; on each way through a conditional in which that lies.
void CodeObject::FindEnds() {
  for (Local& local : locals_) {
    local.held = local.last_use;
    local.ends_apart = local.last_use >= 0 && way_at_[local.last_use] != local.home;
  }
  if (ways_.size() == 1) return;
  std::vector<std::pair<int, int>> uses;
  for (int i = 0; i < size(); ++i) {
    for (const int read : instrs_[i].reads) {
      if (locals_[read].ends_apart) uses.emplace_back(read, i);
    }
  }
  std::sort(uses.begin(), uses.end());
  std::vector<int> of_one;
  for (size_t i = 0; i < uses.size(); ++i) {
    of_one.push_back(uses[i].second);
    if (i + 1 < uses.size() && uses[i + 1].first == uses[i].first) continue;
    EndOnEachWay(uses[i].first, of_one, locals_[uses[i].first].home);
    of_one.clear();
  }
}

void CodeObject::EndOnEachWay(int local, std::span<const int> uses, int home) {
  int way = way_at_[uses.back()];
  if (way == home) {
    ends_.emplace(local, uses.back());
    return;
  }
  while (ways_[way].parent != home) way = ways_[way].parent;
  for (const int side : {way, ways_[way].other}) {
    const auto from = std::upper_bound(uses.begin(), uses.end(), ways_[side].begin);
    const auto to = std::lower_bound(from, uses.end(), ways_[side].end);
    if (from != to) {
      EndOnEachWay(local, {from, to}, side);
    } else {
      ways_[side].ended.push_back(local);
      locals_[local].held = std::max(locals_[local].held, ways_[side].begin);
    }
  }
}

// --- Registers

// A register is free again behind the last use of its value; the one that is freed last is used
// first.
void CodeObject::Allocate(uint32_t first_register) {
  FindEnds();
  registers_ = first_register;
  std::vector<uint32_t> free;
  std::vector<bool> placed(locals_.size());
  std::vector<std::vector<int>> ends(instrs_.size());
  for (size_t l = 0; l < locals_.size(); ++l) {
    const Local& local = locals_[l];
    if (local.in_register && !local.is_pinned && local.last_use >= 0) {
      ends[static_cast<size_t>(local.held)].push_back(static_cast<int>(l));
    }
  }
  for (size_t i = 0; i < instrs_.size(); ++i) {
    for (const int write : instrs_[i].writes) {
      if (write < 0) continue;
      Local& local = locals_[write];
      // What a conditional gives out is written on both ways.
      if (!local.in_register || local.is_pinned || placed[write]) continue;
      placed[write] = true;
      if (free.empty()) {
        local.index = registers_++;
      } else {
        local.index = free.back();
        free.pop_back();
      }
    }
    for (const int ended : ends[i]) free.push_back(locals_[ended].index);
    for (const int write : instrs_[i].writes) {
      if (write < 0) continue;
      const Local& local = locals_[write];
      if (local.in_register && !local.is_pinned && local.last_use < 0) free.push_back(local.index);
    }
  }
}

void CodeObject::SetWindows() {
  all_registers_ = registers_;
  for (const uint32_t l : loops_) {
    LoopCode& loop = plan_->loops[l];
    loop.window = registers_;
    all_registers_ = std::max(all_registers_, registers_ + loop.all_registers);
  }
}

uint32_t CodeObject::OperandOf(int local, bool last) const {
  const Local& l = locals_[local];
  return Operand::Make(l.base, l.index, last, l.shared && last).v;
}

void CodeObject::NotePlaces(const std::vector<int>& reads) {
  constexpr size_t kNowhere = static_cast<size_t>(-1);
  first_place_.resize(locals_.size(), kNowhere);
  last_place_.resize(locals_.size(), kNowhere);
  for (const int read : reads) first_place_[static_cast<size_t>(read)] = kNowhere;
  for (size_t r = 0; r < reads.size(); ++r) {
    const auto read = static_cast<size_t>(reads[r]);
    if (first_place_[read] == kNowhere) first_place_[read] = r;
    last_place_[read] = r;
  }
}

std::vector<bool> CodeObject::EndingReads(int at) {
  const std::vector<int>& reads = instrs_[static_cast<size_t>(at)].reads;
  NotePlaces(reads);
  std::vector<bool> ends(reads.size());
  for (size_t r = 0; r < reads.size(); ++r) {
    ends[r] = EndsAt(reads[r], at) && last_place_[static_cast<size_t>(reads[r])] == r;
  }
  return ends;
}

Section CodeObject::Write(int from, int to) {
  Section section{.begin = static_cast<uint32_t>(plan_->code.size())};
  for (int i = from; i < to; ++i) WriteOne(i);
  section.end = static_cast<uint32_t>(plan_->code.size());
  return section;
}

// The operands of an instruction. Of a value that is read twice and ends here, a kernel must not
// take one for its own: such values come back in `twice`.
void CodeObject::WriteOperands(const AbstractInstr& instr, int index, std::vector<int>* twice) {
  NotePlaces(instr.reads);
  for (size_t r = 0; r < instr.reads.size(); ++r) {
    const int read = instr.reads[r];
    bool last = EndsAt(read, index);
    if (last) {
      const bool again = last_place_[static_cast<size_t>(read)] != r;
      const bool before = first_place_[static_cast<size_t>(read)] != r;
      if (again) last = false;
      if (IsKernel(instr.opcode) && (again || before)) {
        last = false;
        if (!again && NeedsRelease(read)) twice->push_back(read);
      }
    }
    plan_->words.push_back(OperandOf(read, last));
  }
  for (const int write : instr.writes) {
    if (write < 0) {
      plan_->words.push_back(kNone);
      continue;
    }
    const Local& local = locals_[write];
    plan_->words.push_back(
        OperandOf(write, local.in_register && !local.is_pinned && local.last_use < 0));
  }
}

void CodeObject::WriteRelease(const AbstractInstr& instr, const std::vector<int>& ended) {
  if (ended.empty()) return;
  Instr out;
  out.aux = 0;
  out.words = static_cast<uint32_t>(plan_->words.size());
  out.inputs = static_cast<uint32_t>(ended.size());
  out.outputs = 0;
  out.opcode = Opcode::kRelease;
  out.node = static_cast<uint32_t>(instr.node);
  for (const int local : ended) plan_->words.push_back(OperandOf(local, true));
  plan_->code.push_back(out);
}

void CodeObject::WriteMark(const AbstractInstr& instr, int index) {
  if (instr.mark != Mark::kBranch) {
    const bool is_else = instr.mark == Mark::kElse;
    plan_->code[open_.back()].aux = plan_->code.size() + (is_else ? 1 : 0);
    open_.pop_back();
  }
  if (instr.mark == Mark::kEnd) return;
  open_.push_back(static_cast<uint32_t>(plan_->code.size()));
  Instr out;
  out.aux = 0;
  out.words = static_cast<uint32_t>(plan_->words.size());
  out.inputs = static_cast<uint32_t>(instr.reads.size());
  out.outputs = 0;
  out.opcode = instr.opcode;
  out.node = static_cast<uint32_t>(instr.node);
  std::vector<int> twice;
  WriteOperands(instr, index, &twice);
  plan_->code.push_back(out);
  std::vector<int> ended = ways_[instr.aux].ended;
  std::erase_if(ended, [&](int local) { return !locals_[local].owned || !NeedsRelease(local); });
  WriteRelease(instr, ended);
}

void CodeObject::WriteOne(int index) {
  const AbstractInstr& instr = instrs_[static_cast<size_t>(index)];
  if (instr.mark != Mark::kNone) WriteMark(instr, index);
  if (instr.mark == Mark::kBranch || instr.mark == Mark::kElse) return;
  if (instr.opcode == Opcode::kRelease) {
    std::vector<int> ended;
    NotePlaces(instr.reads);
    for (size_t r = 0; r < instr.reads.size(); ++r) {
      const int read = instr.reads[r];
      if (EndsAt(read, index) && NeedsRelease(read) &&
          first_place_[static_cast<size_t>(read)] == r) {
        ended.push_back(read);
      }
    }
    return WriteRelease(instr, ended);
  }
  Instr out;
  if (instr.kernel != nullptr) {
    out.kernel = instr.kernel;
  } else {
    out.aux = instr.aux;
  }
  out.words = static_cast<uint32_t>(plan_->words.size());
  out.inputs = static_cast<uint32_t>(instr.reads.size());
  out.outputs = static_cast<uint32_t>(instr.writes.size());
  out.opcode = instr.opcode;
  out.node = static_cast<uint32_t>(instr.node);
  std::vector<int> twice;
  WriteOperands(instr, index, &twice);
  if (instr.opcode == Opcode::kKernelAlways) {
    const uint32_t empty = Operand::Make(kConstants, 0).v;
    plan_->words.insert(plan_->words.end(), instr.reads.size(), empty);
    for (const int write : instr.writes) plan_->words.push_back(OperandOf(write, false));
  }
  plan_->words.insert(plan_->words.end(), instr.extra.begin(), instr.extra.end());
  std::vector<int> ended;  // what an asynchronous kernel's inputs leave behind
  if (instr.opcode == Opcode::kKernel || instr.opcode == Opcode::kAsync) {
    bool release = false;
    for (const int read : instr.reads) {
      const auto local = static_cast<size_t>(read);
      const bool twice_read = first_place_[local] != last_place_[local];
      if (!EndsAt(read, index) || !NeedsRelease(read) || twice_read) continue;
      release = true;
      ended.push_back(read);
    }
    for (const int write : instr.writes) {
      if (locals_[write].in_register && locals_[write].last_use < 0 && NeedsRelease(write)) {
        release = true;
      }
    }
    if (release && instr.opcode == Opcode::kKernel) out.opcode = Opcode::kKernelRelease;
  }
  if (instr.opcode != Opcode::kAsync) ended.clear();
  plan_->code.push_back(out);
  ended.insert(ended.end(), twice.begin(), twice.end());
  WriteRelease(instr, ended);
}

}  // namespace thalweg
