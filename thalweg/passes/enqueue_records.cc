// SPDX-License-Identifier: Apache-2.0
#include "thalweg/passes/enqueue_records.h"

#include <utility>

#include "thalweg/passes/asked_device.h"
#include "thalweg/passes/graph_copier.h"

namespace thalweg {
namespace {

// A queue or a reader, which its node finds whenever it runs.
bool IsHandle(const Node& node) {
  return node.num_inputs() == 0 && node.control_inputs().empty() && node.num_outputs() == 1 &&
         node.output_type(0) == DType::kResource && !IsPlaceholder(node);
}

// The ReaderReadV2 that all components come from; null where there is none.
const Node* ReadOf(const Node& enqueue) {
  const Node* const read = enqueue.num_inputs() < 2 ? nullptr : enqueue.input(1).node;
  if (read == nullptr || read->op_name() != "ReaderReadV2") return nullptr;
  for (int i = 2; i < enqueue.num_inputs(); ++i) {
    if (enqueue.input(i).node != read) return nullptr;
  }
  return read;
}

// The enqueue of a step of which nothing else is left than a read and the handles of both, all on
// one device; null where the step is another.
const Node* EnqueueOf(const StepGraph& step) {
  if (!step.fetches.empty() || step.targets.size() != 1) return nullptr;
  const Node* const enqueue = step.targets.front();
  if (enqueue->op_name() != "QueueEnqueueV2" || !MayBeOnCpu(*enqueue)) return nullptr;
  const Node* const read = ReadOf(*enqueue);
  if (read == nullptr) return nullptr;
  for (const Node* node : step.graph->Nodes()) {
    const bool is_known = node == enqueue || node == read || IsHandle(*node);
    if (!is_known || !node->control_inputs().empty() || node->device() != enqueue->device() ||
        node->FindAttr("_class") != nullptr) {
      return nullptr;
    }
  }
  return enqueue;
}

}  // namespace

Result<StepGraph> EnqueueRecords(const StepGraph& step) {
  const Node* const enqueue = EnqueueOf(step);
  if (enqueue == nullptr) return step;
  GraphCopier copier(step);
  for (const Node* node : step.graph->Nodes()) {
    if (node != enqueue) {
      copier.Copy(*node);
      continue;
    }
    NodeSpec spec;
    spec.op = "_EnqueueRecords";
    spec.name = enqueue->name();
    std::vector<int64_t> read_outputs;
    for (int i = 0; i < enqueue->num_inputs(); ++i) {
      spec.inputs.push_back(copier.Map(enqueue->input(i)));
      if (i > 0) read_outputs.push_back(enqueue->input(i).index);
    }
    spec.inputs.push_back(copier.Map(enqueue->input(1).node->input(0)));
    spec.attrs.Set("timeout_ms", *enqueue->FindAttr("timeout_ms"));
    spec.attrs.Set("read_outputs", std::move(read_outputs));
    spec.attrs.Set("_fused_from", enqueue->Label());
    ASSIGN_OR_RETURN(Node * made, copier.Make(*enqueue, std::move(spec)));
    copier.Replace(*enqueue, made);
  }
  return copier.Finish();
}

}  // namespace thalweg
