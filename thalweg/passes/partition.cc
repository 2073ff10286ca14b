// SPDX-License-Identifier: Apache-2.0
#include "thalweg/passes/partition.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "thalweg/passes/step_frames.h"

namespace thalweg {
namespace {

class Partitioner {
 public:
  Partitioner(const StepGraph& step, const std::vector<int>& device_of,
              const std::vector<Device*>& devices, const PartitionOptions& options,
              StepFrames frames)
      : step_(step),
        device_of_(device_of),
        devices_(devices),
        options_(options),
        frames_(std::move(frames)),
        parts_(devices.size()),
        home_(static_cast<size_t>(step.graph->num_nodes())),
        feed_of_(home_.size(), -1) {
    for (size_t i = 0; i < step.feeds.size(); ++i) {
      if (step.feeds[i].node != nullptr) feed_of_[step.feeds[i].node->id()] = static_cast<int>(i);
    }
  }

  Result<std::vector<StepPartition>> Run() {
    for (const Node* node : step_.graph->Nodes()) {
      if (IsCopiedToReaders(*node)) continue;
      RETURN_IF_ERROR(Copy(*node));
    }
    // Conditions exist by now. Sending one may start an outer control loop, hence the index.
    for (size_t i = 0; i < loops_.size(); ++i) RETURN_IF_ERROR(FinishLoop(i));
    for (const BackEdge& edge : back_edges_) {
      const Output source{home_[edge.source.node->id()], edge.source.index};
      RETURN_IF_ERROR(edge.merge->graph().SetBackEdge(edge.merge, edge.index, source));
    }
    for (size_t i = 0; i < step_.fetches.size(); ++i) {
      const Output& fetch = step_.fetches[i];
      const int device = DeviceOf(*fetch.node);
      ASSIGN_OR_RETURN(Output here, Local(fetch, device, StepFrames::kRoot));
      Part(device).step.fetches.push_back(here);
      Part(device).fetches.push_back(static_cast<int>(i));
    }
    for (const Node* target : step_.targets) {
      const int device = DeviceOf(*target);
      ASSIGN_OR_RETURN(Output here, Local({const_cast<Node*>(target), 0}, device, 0));
      Part(device).step.targets.push_back(here.node);
    }
    std::vector<StepPartition> result;
    for (StepPartition& part : parts_) {
      if (part.step.graph == nullptr) continue;
      part.step.origins.resize(static_cast<size_t>(part.step.graph->num_nodes()));
      result.push_back(std::move(part));
    }
    return result;
  }

 private:
  struct BackEdge {
    Node* merge;
    int index;
    Output source;  // old
  };
  struct ControlLoop {
    int frame;
    int device;
    Node* merge;
  };

  int DeviceOf(const Node& node) const { return device_of_[node.id()]; }
  // Costs nothing to have twice, and a transfer otherwise.
  bool IsCopiedToReaders(const Node& node) const {
    return feed_of_[node.id()] >= 0 || (node.op_name() == "Const" && node.control_inputs().empty());
  }

  StepPartition& Part(int device) {
    StepPartition& part = parts_[device];
    if (part.step.graph == nullptr) {
      part.device = device;
      part.step.graph = std::make_shared<Graph>(step_.graph->shared_registry());
      part.step.graph->versions() = step_.graph->versions();
      part.step.feeds.resize(step_.feeds.size());
    }
    return part;
  }
  Graph& GraphOf(int device) { return *Part(device).step.graph; }

  void SetOrigin(int device, const Node& now, const Node* origin) {
    std::vector<const Node*>& origins = Part(device).step.origins;
    if (origins.size() <= static_cast<size_t>(now.id())) origins.resize(now.id() + 1);
    origins[now.id()] = origin;
  }

  Status Copy(const Node& node) {
    const int device = DeviceOf(node);
    const int frame = frames_.Of(node);
    std::vector<Output> inputs;
    std::vector<int> open;
    for (int i = 0; i < node.num_inputs(); ++i) {
      const Output& input = node.input(i);
      if (input.node->id() >= node.id()) {
        if (DeviceOf(*input.node) != device) {
          return Internal(node.Label(), " and its back edge from ", input.node->Label(),
                          " are on different devices");
        }
        open.push_back(i);
        inputs.emplace_back();
        continue;
      }
      ASSIGN_OR_RETURN(Output here, Local(input, device, frame));
      inputs.push_back(here);
    }
    std::vector<Node*> controls;
    for (const Node* before : node.control_inputs()) {
      ASSIGN_OR_RETURN(Node * here, LocalControl(*before, device, frame));
      if (std::find(controls.begin(), controls.end(), here) == controls.end()) {
        controls.push_back(here);
      }
    }
    Node* const now = GraphOf(device).CopyNode(node, std::move(inputs), std::move(controls));
    for (int i : open) back_edges_.push_back({now, i, node.input(i)});
    home_[node.id()] = now;
    SetOrigin(device, *now, step_.Origin(node));
    return OkStatus();
  }

  // The value on `device`, for a reader in `frame`.
  Result<Output> Local(const Output& output, int device, int frame) {
    const Node& node = *output.node;
    if (IsCopiedToReaders(node)) return Output{CopyToReader(node, device), output.index};
    if (DeviceOf(node) == device) return Output{home_[node.id()], output.index};
    const auto key = std::make_tuple(node.id(), output.index, device);
    const auto found = received_.find(key);
    if (found != received_.end()) return Output{found->second, 0};
    Output sent{home_[node.id()], output.index};
    const bool narrow = options_.bfloat16_transfers && sent.dtype() == DType::kFloat &&
                        !InOneTask(DeviceOf(node), device);
    if (narrow) {
      ASSIGN_OR_RETURN(sent, Narrowed(output));
    }
    ASSIGN_OR_RETURN(Node * recv,
                     Transfer(sent, StrCat(node.name(), "_", output.index), node, device, frame));
    if (narrow) {
      ASSIGN_OR_RETURN(recv, Cast({recv, 0}, DType::kFloat, node, "/from_bfloat16", device));
    }
    received_.emplace(key, recv);
    return Output{recv, 0};
  }

  bool InOneTask(int a, int b) const {
    const DeviceName& first = devices_[a]->name();
    const DeviceName& second = devices_[b]->name();
    return first.job == second.job && first.replica == second.replica && first.task == second.task;
  }

  // The value as bfloat16, where it is.
  Result<Output> Narrowed(const Output& output) {
    Node*& cast = narrowed_[{output.node->id(), output.index}];
    if (cast == nullptr) {
      const Node& node = *output.node;
      ASSIGN_OR_RETURN(cast, Cast({home_[node.id()], output.index}, DType::kBfloat16, node,
                                  "/to_bfloat16", DeviceOf(node)));
    }
    return Output{cast, 0};
  }

  // `producer`: whose value it is in the old graph.
  Result<Node*> Cast(const Output& value, DType to, const Node& producer, std::string_view suffix,
                     int device) {
    NodeSpec cast;
    cast.name = Unique(device, StrCat(producer.name(), suffix));
    cast.op = "Cast";
    cast.inputs = {value};
    cast.attrs = {{"DstT", to}};
    cast.site = GraphOf(device).InternSite(producer.graph().Site(producer.site()));
    return GraphOf(device).AddNode(std::move(cast));
  }

  Result<Node*> LocalControl(const Node& node, int device, int frame) {
    if (IsCopiedToReaders(node)) return CopyToReader(node, device);
    if (DeviceOf(node) == device) return home_[node.id()];
    const auto key = std::make_tuple(node.id(), -1, device);
    const auto found = received_.find(key);
    if (found != received_.end()) return found->second;
    // The scalar is dead where the node is.
    NodeSpec spec;
    spec.name = Unique(DeviceOf(node), StrCat(node.name(), "/control"));
    spec.op = "Const";
    spec.attrs = {{"dtype", DType::kFloat}, {"value", Tensor::Scalar(0.0f)}};
    spec.control_inputs = {home_[node.id()]};
    ASSIGN_OR_RETURN(Node * token, GraphOf(DeviceOf(node)).AddNode(std::move(spec)));
    ASSIGN_OR_RETURN(Node * recv,
                     Transfer({token, 0}, StrCat(node.name(), "_control"), node, device, frame));
    // In TensorFlow's executors a Recv of something dead is alive itself: what follows it is not.
    NodeSpec follow;
    follow.name = Unique(device, StrCat(node.name(), "/control"));
    follow.op = "Identity";
    follow.inputs = {{recv, 0}};
    ASSIGN_OR_RETURN(Node * follower, GraphOf(device).AddNode(std::move(follow)));
    received_.emplace(key, follower);
    return follower;
  }

  Node* CopyToReader(const Node& node, int device) {
    Node*& copy = copies_[{node.id(), device}];
    if (copy == nullptr) {
      copy = GraphOf(device).CopyNode(node, {}, {});
      SetOrigin(device, *copy, step_.Origin(node));
      const int feed = feed_of_[node.id()];
      if (feed >= 0) Part(device).step.feeds[feed] = {copy, 0};
    }
    return copy;
  }

  std::string Unique(int device, std::string_view name) { return GraphOf(device).UniqueName(name); }

  // A pair of _Send, where `value` is, and _Recv on `device`. `producer` is the old node.
  Result<Node*> Transfer(const Output& value, const std::string& name, const Node& producer,
                         int device, int frame) {
    const int from = DeviceOf(producer);
    const Device& source = *devices_[from];
    const DType dtype = value.dtype();
    const std::string edge = StrCat("edge_", next_edge_++, "_", name);
    AttrMap attrs = {{"tensor_name", edge},
                     {"send_device", source.full_name()},
                     {"send_device_incarnation", static_cast<int64_t>(source.incarnation())},
                     {"recv_device", devices_[device]->full_name()}};
    const std::string site = producer.graph().Site(producer.site());
    NodeSpec send;
    send.name = Unique(from, StrCat(producer.name(), "/send"));
    send.op = "_Send";
    send.inputs = {value};
    send.attrs = attrs;
    send.site = GraphOf(from).InternSite(site);
    ASSIGN_OR_RETURN([[maybe_unused]] Node * sender, GraphOf(from).AddNode(std::move(send)));
    NodeSpec recv;
    recv.name = Unique(device, StrCat(producer.name(), "/recv"));
    recv.op = "_Recv";
    recv.attrs = std::move(attrs);
    recv.attrs.Set("tensor_type", dtype);
    recv.site = GraphOf(device).InternSite(site);
    if (frame != StepFrames::kRoot) {
      ASSIGN_OR_RETURN(Node * beat, LoopMerge(frame, device));
      recv.control_inputs = {beat};
    }
    return GraphOf(device).AddNode(std::move(recv));
  }

  // The Merge of the control loop for a frame on a device: alive once in every iteration.
  Result<Node*> LoopMerge(int frame, int device) {
    for (const ControlLoop& loop : loops_) {
      if (loop.frame == frame && loop.device == device) return loop.merge;
    }
    const StepFrames::Frame& info = frames_.frames()[frame];
    Graph& graph = GraphOf(device);
    Node* token = nullptr;
    if (info.parent != StepFrames::kRoot) {
      // By the outer Merge, not its Switch: the inner loop may belong to the outer one's condition.
      ASSIGN_OR_RETURN(token, LoopMerge(info.parent, device));
    } else {
      NodeSpec start;
      start.name = Unique(device, StrCat("control_loop/", info.name, "/start"));
      start.op = "Const";
      start.attrs = {{"dtype", DType::kFloat}, {"value", Tensor::Scalar(0.0f)}};
      ASSIGN_OR_RETURN(token, graph.AddNode(std::move(start)));
    }
    NodeSpec enter;
    enter.name = Unique(device, StrCat("control_loop/", info.name, "/enter"));
    enter.op = "Enter";
    enter.inputs = {{token, 0}};
    enter.attrs = {{"frame_name", info.name}, {"parallel_iterations", info.parallel_iterations}};
    ASSIGN_OR_RETURN(Node * entered, graph.AddNode(std::move(enter)));
    NodeSpec merge;
    merge.name = Unique(device, StrCat("control_loop/", info.name, "/merge"));
    merge.op = "Merge";
    merge.inputs = {{entered, 0}, Output()};
    ASSIGN_OR_RETURN(Node * merged, graph.AddNode(std::move(merge)));
    loops_.push_back({frame, device, merged});
    return merged;
  }

  Status FinishLoop(size_t index) {
    const ControlLoop loop = loops_[index];
    const StepFrames::Frame& info = frames_.frames()[loop.frame];
    if (info.condition == nullptr) {
      return InvalidArgument("the loop '", info.name,
                             "' spans several devices and has no LoopCond to say when it ends");
    }
    Graph& graph = GraphOf(loop.device);
    ASSIGN_OR_RETURN(Output condition,
                     Local({const_cast<Node*>(info.condition), 0}, loop.device, loop.frame));
    NodeSpec spec;
    spec.name = Unique(loop.device, StrCat("control_loop/", info.name, "/switch"));
    spec.op = "Switch";
    spec.inputs = {{loop.merge, 0}, condition};
    ASSIGN_OR_RETURN(Node * switched, graph.AddNode(std::move(spec)));
    NodeSpec next;
    next.name = Unique(loop.device, StrCat("control_loop/", info.name, "/next"));
    next.op = "NextIteration";
    next.inputs = {{switched, 1}};
    ASSIGN_OR_RETURN(Node * again, graph.AddNode(std::move(next)));
    return graph.SetBackEdge(loop.merge, 1, {again, 0});
  }

  const StepGraph& step_;
  const std::vector<int>& device_of_;
  const std::vector<Device*>& devices_;
  const PartitionOptions options_;
  const StepFrames frames_;
  std::vector<StepPartition> parts_;                     // by device
  std::vector<Node*> home_;                              // by old id: the node on its own device
  std::vector<int> feed_of_;                             // by old id: the feed's number, or -1
  std::map<std::pair<int, int>, Node*> copies_;          // (old id, device)
  std::map<std::pair<int, int>, Node*> narrowed_;        // (old id, output): as bfloat16
  std::map<std::tuple<int, int, int>, Node*> received_;  // (old id, output or -1, device)
  std::vector<ControlLoop> loops_;
  std::vector<BackEdge> back_edges_;
  int next_edge_ = 0;
};

}  // namespace

Result<std::vector<StepPartition>> PartitionByDevice(const StepGraph& step,
                                                     const std::vector<int>& device_of_node,
                                                     const std::vector<Device*>& devices,
                                                     const PartitionOptions& options) {
  const std::set<int> used(device_of_node.begin(), device_of_node.end());
  if (used.size() == 1) {
    StepPartition whole{.device = *used.begin(), .step = step, .fetches = {}};
    for (size_t i = 0; i < step.fetches.size(); ++i) whole.fetches.push_back(static_cast<int>(i));
    return std::vector<StepPartition>{std::move(whole)};
  }
  ASSIGN_OR_RETURN(StepFrames frames, StepFrames::Find(step));
  return Partitioner(step, device_of_node, devices, options, std::move(frames)).Run();
}

}  // namespace thalweg
