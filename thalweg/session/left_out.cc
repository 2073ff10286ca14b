// SPDX-License-Identifier: Apache-2.0
#include "thalweg/session/left_out.h"

#include <string>
#include <vector>

#include "thalweg/proto/trace_fields.h"
#include "thalweg/proto/wire_fields.h"

namespace thalweg {

void AppendLeftOut(const LeftOutRecords& left_out, const Program& program, StepStats* stats) {
  struct OfDevice {
    int64_t executions = 0;
    std::string nodes;
  };
  std::vector<OfDevice> devices(stats->traces.size());
  for (size_t i = 0; i < left_out.by_node.size(); ++i) {
    if (left_out.by_node[i] == 0) continue;
    const ProgramNode& node = program.nodes[i];
    OfDevice& device = devices[static_cast<size_t>(node.device)];
    device.executions += left_out.by_node[i];
    std::string fields;
    AddWireText(left_out_fields::kNodeName, node.name, &fields);
    AddWireInt(left_out_fields::kNodeExecutions, left_out.by_node[i], &fields);
    AddWireText(left_out_fields::kNode, fields, &device.nodes);
  }
  const int64_t begin = stats->start_wall_micros * 1000;
  for (size_t d = 0; d < devices.size(); ++d) {
    if (devices[d].executions == 0) continue;
    std::string fields;
    AddWireInt(left_out_fields::kExecutions, devices[d].executions, &fields);
    AddWireInt(left_out_fields::kUntilNanos, begin + left_out.until_nanos - stats->start_nanos,
               &fields);
    AddWireInt(left_out_fields::kStepBeginNanos, begin, &fields);
    fields += devices[d].nodes;
    AddWireText(kLeftOutField, fields, stats->traces[d].nodes.Tail());
  }
}

void AppendLeftOutTransfers(int64_t transfers, int64_t until_wall_nanos, DeviceTrace* device) {
  std::string fields;
  AddWireInt(left_out_fields::kTransfers, transfers, &fields);
  AddWireInt(left_out_fields::kUntilNanos, until_wall_nanos, &fields);
  AddWireText(kLeftOutField, fields, device->nodes.Tail());
}

}  // namespace thalweg
