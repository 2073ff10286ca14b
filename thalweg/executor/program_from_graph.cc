// SPDX-License-Identifier: Apache-2.0
#include "thalweg/executor/program_from_graph.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

namespace thalweg {
namespace {

using Control = Node::Control;

// Elements of a shape, which need not be a number of 64 bits; an unknown dimension counts as a
// small batch.
float EstimateElements(const PartialShape& shape) {
  if (!shape.known_rank()) return 1;
  float elements = 1;
  for (int i = 0; i < shape.rank(); ++i) {
    elements *= shape.dim(i) < 0 ? 32 : static_cast<float>(shape.dim(i));
  }
  return std::min(elements, 0x1p40f);
}

// Element-wise work in a microsecond, roughly.
constexpr float kElementsPerMicro = 8192;

float EstimateMicros(const Node& node, const KernelEntry& kernel) {
  if (kernel.cost == KernelCost::kCheap) return 0.01f;
  if (kernel.cost == KernelCost::kExpensive) return 10;
  float elements = 0;
  for (const Output& input : node.inputs()) {
    if (input.node != nullptr) elements = std::max(elements, EstimateElements(input.shape()));
  }
  for (int i = 0; i < node.num_outputs(); ++i) {
    elements = std::max(elements, EstimateElements(node.output_shape(i)));
  }
  return 0.02f + elements / kElementsPerMicro;
}

class Builder {
 public:
  explicit Builder(const ProgramSpec& spec) : spec_(spec) {}

  Result<Program> Build() {
    program_.num_feeds = static_cast<int>(spec_.feeds.size());
    program_.num_devices = static_cast<int>(spec_.devices.size());
    for (size_t i = 0; i < spec_.feeds.size(); ++i) {
      feed_of_[spec_.feeds[i].node].emplace_back(spec_.feeds[i].index, static_cast<int>(i));
    }
    for (const Node* node : spec_.nodes) {
      number_.emplace(node, static_cast<int>(number_.size()));
    }
    program_.nodes.reserve(spec_.nodes.size());
    for (const Node* node : spec_.nodes) {
      if (spec_.work != nullptr) RETURN_IF_ERROR(spec_.work->Visit(1 + node->num_inputs()));
      RETURN_IF_ERROR(Add(*node));
    }
    for (const Output& fetch : spec_.fetches) {
      ASSIGN_OR_RETURN(Value value, ValueOf(fetch, false));
      if (!value.is_feed()) value.read_reference = fetch.node->output_is_ref(fetch.index);
      program_.fetches.push_back(value);
    }
    return std::move(program_);
  }

 private:
  Result<Value> ValueOf(const Output& output, bool reader_takes_reference) const {
    if (const auto fed = feed_of_.find(output.node); fed != feed_of_.end()) {
      for (const auto& [index, feed] : fed->second) {
        if (index == output.index) return Value::Feed(feed);
      }
    }
    const auto at = number_.find(output.node);
    if (at == number_.end()) {
      return Internal("the value ", output, " is neither computed nor fed");
    }
    return Value{
        .node = at->second,
        .index = output.index,
        .read_reference = output.node->output_is_ref(output.index) && !reader_takes_reference};
  }

  // The nodes of the user that a pass has made `node` of.
  static std::vector<std::string> PartsOf(const Node& node) {
    if (!node.op_name().starts_with('_')) return {};
    const AttrValue* from = node.FindAttr("_fused_from");
    const auto* one = from == nullptr ? nullptr : from->GetIf<std::string>();
    if (one != nullptr) return {*one};
    const AttrValue* nodes = node.FindAttr("nodes");
    const auto* several = nodes == nullptr ? nullptr : nodes->GetIf<std::vector<std::string>>();
    return several == nullptr ? std::vector<std::string>() : *several;
  }

  Status Add(const Node& node) {
    ProgramNode out;
    out.name = node.name();
    out.op = node.op_name();
    if (node.site() != 0) out.site = node.graph().Site(node.site());
    out.made_of = PartsOf(node);
    out.control = node.control();
    out.num_outputs = node.num_outputs();
    out.device = spec_.device_of ? spec_.device_of(node) : 0;
    for (int i = 0; i < node.num_inputs(); ++i) {
      if (node.input(i).node == nullptr) {
        return InvalidArgument(node.Label(), " has an open back edge at input ", i);
      }
      ASSIGN_OR_RETURN(const Value value, ValueOf(node.input(i), node.input_is_ref(i)));
      out.inputs.push_back(value);
    }
    for (const Node* before : node.control_inputs()) {
      const auto at = number_.find(before);
      if (at != number_.end()) out.control_inputs.push_back(at->second);
    }
    // A scalar of a device's own memory is a block of it.
    const bool in_handles = spec_.devices[out.device]->host_addressable();
    for (int i = 0; i < node.num_outputs() && in_handles; ++i) {
      const size_t bytes = DTypeSize(node.output_type(i));
      const PartialShape& shape = node.output_shape(i);
      out.inline_outputs.push_back(bytes > 0 && bytes <= 8 && !node.output_is_ref(i) &&
                                   shape.known_rank() && shape.rank() == 0);
    }
    RETURN_IF_ERROR(AddKernel(node, &out));
    program_.nodes.push_back(std::move(out));
    return OkStatus();
  }

  Status AddKernel(const Node& node, ProgramNode* out) const {
    const std::string_view op = node.op_name();
    if (node.control() == Control::kEnter) {
      ASSIGN_OR_RETURN(out->frame_name, node.Attr<std::string>("frame_name"));
      ASSIGN_OR_RETURN(out->is_constant, node.Attr<bool>("is_constant"));
      ASSIGN_OR_RETURN(const int64_t parallel, node.Attr<int64_t>("parallel_iterations"));
      out->parallel_iterations = static_cast<int>(std::clamp<int64_t>(parallel, 1, 1 << 16));
    }
    if (node.control() != Control::kNone) return OkStatus();
    if (op == "Const") {
      ASSIGN_OR_RETURN(out->constant, node.Attr<Tensor>("value"));
      return OkStatus();
    }
    out->runs_when_dead = op == "_Send" || op == "_HostSend";
    out->may_be_dead = op == "_Recv" || op == "_HostRecv";
    out->ignores_dead_controls = op == "ControlTrigger";
    Device& device = *spec_.devices[out->device];
    ASSIGN_OR_RETURN(const KernelEntry* entry, spec_.kernels->Find(node, device.type()));
    out->micros = EstimateMicros(node, *entry);
    out->heavy = out->micros > kHeavyMicros;
    ASSIGN_OR_RETURN(out->kernel, spec_.make_kernel(node, device));
    for (int o = 0; o < node.num_outputs(); ++o) {
      out->makes_texts |= node.output_type(o) == DType::kString;
    }
    return OkStatus();
  }

  const ProgramSpec& spec_;
  Program program_;
  std::unordered_map<const Node*, int> number_;
  std::unordered_map<const Node*, std::vector<std::pair<int, int>>> feed_of_;
};

}  // namespace

Result<Program> ProgramFromGraph(const ProgramSpec& spec) { return Builder(spec).Build(); }

}  // namespace thalweg
