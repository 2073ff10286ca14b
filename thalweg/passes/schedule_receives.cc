// SPDX-License-Identifier: Apache-2.0
#include "thalweg/passes/schedule_receives.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <unordered_map>

#include "thalweg/passes/graph_copier.h"
#include "thalweg/passes/step_frames.h"

namespace thalweg {
namespace {

// What things take, in microseconds: guesses for one thread and one network, that need only be
// right about what is long and what is short.
constexpr double kTransferStart = 100;
constexpr double kTransferBytes = 1e3;  // a microsecond
constexpr double kMemoryBytes = 4e3;
constexpr double kFlops = 1e4;
constexpr double kTransfersAhead = 2;  // how much earlier than at the last moment

constexpr int64_t kMaxVisits = 100'000'000;  // nodes looked at; what is left then is not scheduled

bool IsRecv(const Node& node) { return node.op_name() == "_Recv"; }
bool IsBackEdge(const Node& node, const Node& from) { return from.id() >= node.id(); }

std::string TextOf(const Node& node, std::string_view attr) {
  const Result<std::string> value = node.Attr<std::string>(attr);
  return value.ok() ? *value : "";
}

double KnownBytes(const PartialShape& shape, DType dtype) {
  const double elements = static_cast<double>(shape.num_elements());
  return elements < 0 ? 0 : elements * static_cast<double>(DTypeStride(dtype));
}

// What is sent between parts, by its name.
struct Sent {
  PartialShape shape;
  double bytes = 0;  // 0: not known
  bool between_tasks = false;
  bool may_be_dead = false;
};
using SentValues = std::unordered_map<std::string, Sent>;

// A Recv itself knows no shape.
PartialShape ShapeOf(const Output& output, const SentValues& sent) {
  if (!IsRecv(*output.node)) return output.shape();
  const auto found = sent.find(TextOf(*output.node, "tensor_name"));
  return found == sent.end() ? PartialShape() : found->second.shape;
}

double Micros(const Node& node, const SentValues& sent) {
  double bytes = 0;
  for (int i = 0; i < node.num_outputs(); ++i) {
    bytes += KnownBytes(node.output_shape(i), node.output_type(i));
  }
  double micros = 1 + bytes / kMemoryBytes;
  if (node.op_name() == "MatMul" || node.op_name() == "Conv2D") {
    // Each output element is a sum over as many products as the weights have rows.
    const PartialShape weights = ShapeOf(node.input(1), sent);
    const PartialShape& out = node.output_shape(0);
    if (weights.rank() > 0 && weights.num_elements() > 0 && out.num_elements() > 0) {
      const bool transposed = node.op_name() == "MatMul" && node.Attr<bool>("transpose_b").ok() &&
                              *node.Attr<bool>("transpose_b");
      const int64_t columns = weights.dim(transposed ? 0 : weights.rank() - 1);
      const auto sum = static_cast<double>(weights.num_elements()) / static_cast<double>(columns);
      micros += 2 * sum * static_cast<double>(out.num_elements()) / kFlops;
    }
  }
  return micros;
}

// One part, its readers by node, and what is known of its values.
class Part {
 public:
  Part(StepGraph& step, StepFrames frames)
      : step_(step),
        frames_(std::move(frames)),
        num_nodes_(static_cast<size_t>(step.graph->num_nodes())),
        readers_(num_nodes_),
        finish_(num_nodes_),
        may_be_dead_(num_nodes_),
        is_result_(num_nodes_) {
    for (const Node* node : step_.graph->Nodes()) {
      ForInputs(*node, [&](const Node& from) { readers_[from.id()].push_back(node->id()); });
    }
    for (const Output& fetch : step_.fetches) is_result_[fetch.node->id()] = true;
    for (const Node* target : step_.targets) is_result_[target->id()] = true;
  }

  template <class F>
  static void ForInputs(const Node& node, const F& f) {
    for (const Output& input : node.inputs()) {
      if (!IsBackEdge(node, *input.node)) f(*input.node);
    }
    for (const Node* before : node.control_inputs()) f(*before);
  }

  // Which nodes may be dead, given which of the values that others send may be. True when it knows
  // more than before.
  bool SpreadDeadness(SentValues* sent) {
    bool changed = false;
    for (const Node* node : step_.graph->Nodes()) {
      bool dead = node->control() == Node::Control::kSwitch;
      if (IsRecv(*node)) dead |= (*sent)[TextOf(*node, "tensor_name")].may_be_dead;
      ForInputs(*node, [&](const Node& from) { dead |= may_be_dead_[from.id()]; });
      may_be_dead_[node->id()] = dead;
      if (dead && node->op_name() == "_Send") {
        bool& known = (*sent)[TextOf(*node, "tensor_name")].may_be_dead;
        changed |= !std::exchange(known, true);
      }
    }
    return changed;
  }

  // By id: the node that a Recv shall wait for; null: none.
  std::vector<const Node*> FindGates(const SentValues& sent) {
    for (const Node* node : step_.graph->Nodes()) {
      double start = 0;
      ForInputs(*node, [&](const Node& from) { start = std::max(start, finish_[from.id()]); });
      finish_[node->id()] = start + Micros(*node, sent);
    }
    std::vector<const Node*> gates(num_nodes_);
    for (const Node* node : step_.graph->Nodes()) {
      if (!IsRecv(*node) || !node->control_inputs().empty()) continue;
      const auto found = sent.find(TextOf(*node, "tensor_name"));
      if (found == sent.end() || !found->second.between_tasks) continue;
      const double bytes = found->second.bytes;
      if (bytes < static_cast<double>(kScheduledBytes)) continue;
      gates[node->id()] = FindGate(*node, kTransferStart + bytes / kTransferBytes);
    }
    return gates;
  }

  // The same nodes in an order in which each comes after its gate.
  Status Apply(const std::vector<const Node*>& gates) {
    std::vector<std::vector<int>> gated(num_nodes_);
    std::vector<int> open(num_nodes_);
    for (const Node* node : step_.graph->Nodes()) {
      ForInputs(*node, [&](const Node&) { ++open[node->id()]; });
      if (const Node* gate = gates[node->id()]; gate != nullptr) {
        gated[gate->id()].push_back(node->id());
        ++open[node->id()];
      }
    }
    std::priority_queue<int, std::vector<int>, std::greater<>> ready;
    for (size_t id = 0; id < num_nodes_; ++id) {
      if (open[id] == 0) ready.push(static_cast<int>(id));
    }
    GraphCopier copier(step_);
    while (!ready.empty()) {
      const int id = ready.top();
      ready.pop();
      Node* const now = copier.Copy(*step_.graph->Nodes()[id]);
      if (gates[id] != nullptr) {
        RETURN_IF_ERROR(copier.graph().AddControlInput(now, copier.Map(gates[id])));
      }
      for (const std::vector<int>* after : {&readers_[id], &gated[id]}) {
        for (const int reader : *after) {
          if (--open[reader] == 0) ready.push(reader);
        }
      }
    }
    ASSIGN_OR_RETURN(step_, copier.Finish());
    return OkStatus();
  }

 private:
  // What follows from a node, itself included.
  std::vector<bool> Downstream(const Node& node) {
    std::vector<bool> found(num_nodes_);
    std::vector<int> open = {node.id()};
    found[node.id()] = true;
    while (!open.empty()) {
      const int id = open.back();
      open.pop_back();
      ++visits_;
      for (const int reader : readers_[id]) {
        if (!found[reader]) open.push_back(reader);
        found[reader] = true;
      }
    }
    return found;
  }

  // The nodes that read what is received together with something else, first of all the one that
  // could run soonest. Empty where something needs it and nothing else.
  std::vector<const Node*> RealReaders(const Node& recv, std::vector<bool>* alone) const {
    std::vector<const Node*> real;
    (*alone)[recv.id()] = true;
    if (is_result_[recv.id()]) return {};
    std::vector<int> open = readers_[recv.id()];
    for (size_t i = 0; i < open.size(); ++i) {
      const Node& node = *step_.graph->Nodes()[open[i]];
      bool with_others = false;
      ForInputs(node, [&](const Node& from) {
        with_others |= !(*alone)[from.id()] && !(from.op_name() == "Const" && IsSource(from));
      });
      if (with_others) {
        real.push_back(&node);
        continue;
      }
      if ((*alone)[node.id()]) continue;
      (*alone)[node.id()] = true;
      if (is_result_[node.id()] || readers_[node.id()].empty()) return {};
      open.insert(open.end(), readers_[node.id()].begin(), readers_[node.id()].end());
    }
    const auto soonest = std::min_element(
        real.begin(), real.end(),
        [&](const Node* a, const Node* b) { return Start(*a, *alone) < Start(*b, *alone); });
    if (soonest != real.end()) std::iter_swap(real.begin(), soonest);
    return real;
  }

  static bool IsSource(const Node& node) {
    return node.num_inputs() == 0 && node.control_inputs().empty();
  }

  // When a node could run if what comes of a Recv alone were there.
  double Start(const Node& node, const std::vector<bool>& alone) const {
    const Node* const last = LastInput(node, alone);
    return last == nullptr ? 0 : finish_[last->id()];
  }

  const Node* LastInput(const Node& node, const std::vector<bool>& alone) const {
    const Node* last = nullptr;
    ForInputs(node, [&](const Node& from) {
      if (alone[from.id()]) return;
      if (last == nullptr || finish_[from.id()] > finish_[last->id()]) last = &from;
    });
    return last;
  }

  const Node* FindGate(const Node& recv, double transfer) {
    std::vector<bool> alone(num_nodes_);
    const std::vector<const Node*> readers = RealReaders(recv, &alone);
    if (readers.empty() || visits_ > kMaxVisits) return nullptr;
    const double latest = Start(*readers.front(), alone) - kTransfersAhead * transfer;
    const std::vector<bool> after_recv = Downstream(recv);
    for (const Node* node = LastInput(*readers.front(), alone);
         node != nullptr && visits_ <= kMaxVisits; node = LastInput(*node, alone)) {
      if (finish_[node->id()] > latest || IsSource(*node) || after_recv[node->id()] ||
          may_be_dead_[node->id()] || frames_.OfValues(*node) != StepFrames::kRoot ||
          frames_.Of(*node) != StepFrames::kRoot) {
        continue;
      }
      const std::vector<bool> after = Downstream(*node);
      const auto waits = [&](const Node* reader) { return after[reader->id()]; };
      if (std::all_of(readers.begin(), readers.end(), waits)) return node;
    }
    return nullptr;
  }

  StepGraph& step_;
  const StepFrames frames_;
  const size_t num_nodes_;
  std::vector<std::vector<int>> readers_;  // by id; back edges left out
  std::vector<double> finish_;             // by id: when it could have run at the soonest
  std::vector<bool> may_be_dead_;
  std::vector<bool> is_result_;  // fetched, or a target
  int64_t visits_ = 0;
};

bool IsBetweenTasks(const Node& send) {
  const auto task = [&](std::string_view attr) {
    const std::string device = TextOf(send, attr);
    return device.substr(0, device.find("/device:"));
  };
  return task("send_device") != task("recv_device");
}

}  // namespace

Status ScheduleReceives(std::vector<StepPartition>* parts) {
  std::vector<Part> all;
  all.reserve(parts->size());
  SentValues sent;
  for (StepPartition& part : *parts) {
    ASSIGN_OR_RETURN(StepFrames frames, StepFrames::Find(part.step));
    all.emplace_back(part.step, std::move(frames));
    for (const Node* node : part.step.graph->Nodes()) {
      if (node->op_name() != "_Send") continue;
      const Output& value = node->input(0);
      sent[TextOf(*node, "tensor_name")] = {.shape = value.shape(),
                                            .bytes = KnownBytes(value.shape(), value.dtype()),
                                            .between_tasks = IsBetweenTasks(*node)};
    }
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (Part& part : all) changed |= part.SpreadDeadness(&sent);
  }
  for (Part& part : all) {
    const std::vector<const Node*> gates = part.FindGates(sent);
    const bool any = std::any_of(gates.begin(), gates.end(), [](const Node* g) { return g; });
    if (any) RETURN_IF_ERROR(part.Apply(gates));
  }
  return OkStatus();
}

std::string WaitingReceivesText(const StepGraph& part) {
  std::string text;
  for (const Node* node : part.graph->Nodes()) {
    if (!IsRecv(*node)) continue;
    for (const Node* gate : node->control_inputs()) {
      if (gate->control() == Node::Control::kMerge) continue;  // of a loop
      text += StrCat("'", node->name(), "' after ", gate->Label(), "\n");
    }
  }
  return text;
}

}  // namespace thalweg
