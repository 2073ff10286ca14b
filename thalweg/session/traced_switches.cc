// SPDX-License-Identifier: Apache-2.0
#include "thalweg/session/traced_switches.h"

#include <algorithm>

#include "thalweg/proto/trace_fields.h"
#include "thalweg/proto/wire_fields.h"

namespace thalweg {

void TracedSwitches::AppendFields(const NodeRecord& record, std::string* fields) const {
  if (record.has_no_thread || records_.by_thread.empty()) return;
  const auto found = records_.by_thread.find(record.thread);
  if (found == records_.by_thread.end()) return;
  const std::vector<ThreadSwitch>& all = found->second;
  if (all.back().in_nanos <= record.start_nanos || all.front().out_nanos >= record.end_nanos)
    return;
  auto each = std::partition_point(all.begin(), all.end(), [&](const ThreadSwitch& before) {
    return before.in_nanos <= record.start_nanos;
  });
  std::string numbers;
  int64_t ended = record.start_nanos;
  const auto append = [&](int64_t out, int64_t in, bool is_preempted) {
    if (in <= out || (!is_preempted && in - out < kLeastWait)) return;
    AppendVarint(numbers, static_cast<uint64_t>(out - ended));
    AppendVarint(numbers, static_cast<uint64_t>(in - out) << 1 | (is_preempted ? 1 : 0));
    ended = in;
  };
  const auto helpers = records_.of_helpers.find(record.thread);
  for (; each != all.end() && each->out_nanos < record.end_nanos; ++each) {
    int64_t out = std::max(each->out_nanos, ended);
    const int64_t in = std::min(each->in_nanos, record.end_nanos);
    if (!each->is_preempted && helpers != records_.of_helpers.end()) {
      const std::vector<ThreadSwitch>& others = helpers->second;
      auto other =
          std::partition_point(others.begin(), others.end(),
                               [&](const ThreadSwitch& before) { return before.in_nanos <= out; });
      for (; other != others.end() && other->out_nanos < in; ++other) {
        append(out, other->out_nanos, false);
        out = std::max(out, other->out_nanos);
        append(out, std::min(other->in_nanos, in), true);
        out = std::min(other->in_nanos, in);
      }
    }
    append(out, in, each->is_preempted);
  }
  if (!numbers.empty()) AddWireText(kNodeSwitchesField, numbers, fields);
}

void TracedSwitches::AppendMissing(std::string* fields) const {
  if (records_.missing.ok()) return;
  AddWireText(kSwitchesMissingField, records_.missing.message(), fields);
}

}  // namespace thalweg
