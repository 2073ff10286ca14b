// SPDX-License-Identifier: Apache-2.0
#include "thalweg/executor/node_costs.h"

#include <algorithm>

namespace thalweg {
namespace {

// What two readings of the clock add to a record, less where a counter is read (TickClock).
constexpr float kReadingMicros = 0.03f;
constexpr float kLeastMicros = 0.01f;
// A measurement within this factor of the line, or of an estimate, changes nothing.
constexpr float kTolerance = 2;
// Cheap work that is worth a second thread.
constexpr float kSharedMicros = 40;
// Heavy nodes with a smaller part of a step's work are not: threads that share a step count its
// signals with atomics, and that costs every cheap node more than the few heavy ones could gain.
constexpr float kLeastPart = 0.1f;

bool MayBeHeavy(const ProgramNode& node) {
  return node.kernel != nullptr && node.kernel->AsAsync() == nullptr;
}

}  // namespace

void NodeCosts::Add(const std::vector<NodeRecord>& records, std::span<const int64_t> calls) {
  struct Sum {
    int64_t nanos = 0;
    int64_t calls = 0;
  };
  std::vector<Sum> sums(micros_.size());
  for (const NodeRecord& record : records) {
    Sum& sum = sums[static_cast<size_t>(record.node)];
    sum.nanos += record.end_nanos - record.start_nanos;
    ++sum.calls;
  }
  for (size_t i = 0; i < sums.size(); ++i) {
    if (sums[i].calls == 0) continue;
    const float mean =
        static_cast<float>(sums[i].nanos) / static_cast<float>(sums[i].calls) / 1000.0f;
    const float micros = std::max(mean - kReadingMicros, kLeastMicros);
    micros_[i] = micros_[i] == kNever ? micros : std::min(micros_[i], micros);
    calls_[i] = static_cast<float>(calls.empty() ? sums[i].calls : calls[i]);
  }
}

bool NodeCosts::IsWorthThreads(const Program& program) const {
  float heavy = 0, all = 0;
  for (size_t i = 0; i < micros_.size(); ++i) {
    const ProgramNode& node = program.nodes[i];
    if (micros_[i] == kNever || !MayBeHeavy(node)) continue;
    const float line = node.heavy ? kHeavyMicros / kTolerance : kHeavyMicros;
    if (micros_[i] > line) heavy += micros_[i] * calls_[i];
    all += micros_[i] * calls_[i];
  }
  return heavy >= all * kLeastPart;
}

bool NodeCosts::Contradict(const Program& program) const {
  const bool worth = IsWorthThreads(program);
  float estimated = 0, measured = 0;
  for (size_t i = 0; i < micros_.size(); ++i) {
    const ProgramNode& node = program.nodes[i];
    if (micros_[i] == kNever || !MayBeHeavy(node)) continue;
    if (node.heavy ? !worth || micros_[i] * kTolerance < kHeavyMicros
                   : worth && micros_[i] > kHeavyMicros * kTolerance) {
      return true;
    }
    if (node.heavy) continue;
    estimated += node.micros;
    measured += micros_[i];
  }
  return measured > kSharedMicros && measured > estimated * kTolerance;
}

void NodeCosts::Correct(Program* program) const {
  const bool worth = IsWorthThreads(*program);
  for (size_t i = 0; i < micros_.size(); ++i) {
    if (micros_[i] == kNever) continue;
    program->nodes[i].micros = micros_[i];
    program->nodes[i].heavy = worth && micros_[i] > kHeavyMicros;
  }
}

}  // namespace thalweg
