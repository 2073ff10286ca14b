// SPDX-License-Identifier: Apache-2.0
#include "thalweg/api/handles.h"
#include "thalweg/graph/attr_value_proto.h"
#include "thalweg/graph/node_maker.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire.h"

using namespace thalweg;       // NOLINT: the file is glue for this namespace
using namespace thalweg::api;  // NOLINT

extern "C" {

void tw_graph_free(TwGraph* graph) { delete graph; }
int32_t tw_graph_num_nodes(const TwGraph* graph) {
  return graph == nullptr ? 0 : graph->graph->num_nodes();
}
void tw_graph_set_aside(TwGraph* graph, int32_t first) {
  if (graph != nullptr) graph->graph->SetAside(first);
}
TwNode* tw_graph_node(const TwGraph* graph, int32_t id) {
  return graph == nullptr ? nullptr : Wrap(graph->graph->NodeById(id));
}
TwNode* tw_graph_find_node(const TwGraph* graph, const char* name) {
  return graph == nullptr || name == nullptr ? nullptr : Wrap(graph->graph->FindNode(name));
}

TwCode tw_graph_find_output(const TwGraph* graph, const char* name, TwOutput* output,
                            TwStatus* status) {
  return Guard(status, [&]() -> Status {
    RETURN_IF_ERROR(RequireAll({{"graph", graph}, {"name", name}, {"output", output}}));
    ASSIGN_OR_RETURN(const Output found, graph->graph->FindOutput(name));
    *output = Wrap(found);
    return OkStatus();
  });
}

TwBuffer* tw_graph_unique_name(const TwGraph* graph, const char* prefix) {
  if (graph == nullptr || prefix == nullptr) return nullptr;
  return Quietly<TwBuffer*>(nullptr, [&] { return NewBuffer(graph->graph->UniqueName(prefix)); });
}

TwCode tw_graph_set_back_edge(TwGraph* graph, TwNode* merge, int32_t index, TwOutput source,
                              TwStatus* status) {
  return Guard(status, [&]() -> Status {
    RETURN_IF_ERROR(RequireAll({{"graph", graph}, {"merge", merge}}));
    return graph->graph->SetBackEdge(Unwrap(merge), index, Unwrap(source));
  });
}

TwCode tw_graph_add_control_input(TwGraph* graph, TwNode* node, TwNode* before, TwStatus* status) {
  return Guard(status, [&]() -> Status {
    RETURN_IF_ERROR(RequireAll({{"graph", graph}, {"node", node}, {"before", before}}));
    return graph->graph->AddControlInput(Unwrap(node), Unwrap(before));
  });
}

TwCode tw_graph_set_input(TwGraph* graph, TwNode* node, int32_t index, TwOutput source,
                          TwStatus* status) {
  return Guard(status, [&]() -> Status {
    RETURN_IF_ERROR(RequireAll({{"graph", graph}, {"node", node}}));
    if (&Unwrap(node)->graph() != graph->graph.get()) {
      return InvalidArgument(Unwrap(node)->Label(), " is a node of another graph");
    }
    return NodeMaker::Rewire(Unwrap(node), index, Unwrap(source));
  });
}

TwCode tw_graph_set_device(TwGraph* graph, TwNode* node, const char* device, TwStatus* status) {
  return Guard(status, [&]() -> Status {
    RETURN_IF_ERROR(RequireAll({{"graph", graph}, {"node", node}, {"device", device}}));
    if (&Unwrap(node)->graph() != graph->graph.get()) {
      return InvalidArgument(Unwrap(node)->Label(), " is a node of another graph");
    }
    NodeMaker::ReplaceDevice(Unwrap(node), device);
    return OkStatus();
  });
}

TwCode tw_graph_set_container(TwGraph* graph, TwNode* node, const char* container,
                              TwStatus* status) {
  return Guard(status, [&]() -> Status {
    RETURN_IF_ERROR(RequireAll({{"graph", graph}, {"node", node}, {"container", container}}));
    Node* const named = Unwrap(node);
    if (&named->graph() != graph->graph.get()) {
      return InvalidArgument(named->Label(), " is a node of another graph");
    }
    if (!named->op().def.is_stateful) return OkStatus();
    const AttrValue* const attr = named->FindAttr("container");
    const std::string* const text = attr == nullptr ? nullptr : attr->GetIf<std::string>();
    if (text != nullptr && text->empty())
      NodeMaker::ReplaceAttr(named, "container", std::string(container));
    return OkStatus();
  });
}

TwCode tw_graph_set_annotation(TwGraph* graph, TwNode* node, const char* attr, const void* data,
                               size_t size, TwStatus* status) {
  return Guard(status, [&]() -> Status {
    RETURN_IF_ERROR(RequireAll({{"graph", graph}, {"node", node}, {"attr", attr}}));
    if (data == nullptr && size > 0) return InvalidArgument("the message is NULL");
    Node* const annotated = Unwrap(node);
    if (&annotated->graph() != graph->graph.get()) {
      return InvalidArgument(annotated->Label(), " is a node of another graph");
    }
    if (attr[0] != '_') {
      return InvalidArgument(annotated->Label(), ": attribute '", attr,
                             "' stays as the node was made with it; those that begin with '_' can "
                             "be set later");
    }
    const std::string_view bytes(static_cast<const char*>(data), size);
    ASSIGN_OR_RETURN(const OwnedMessage message,
                     ParseMessage(pb::AttrValue::Descriptor(), bytes, {.borrow = true}));
    ASSIGN_OR_RETURN(AttrValue value, AttrValueFromProto(*message));
    NodeMaker::ReplaceAttr(annotated, attr, std::move(value));
    return OkStatus();
  });
}

TwCode tw_graph_set_shape(TwGraph* graph, TwOutput output, const int64_t* dims, int32_t rank,
                          TwStatus* status) {
  return Guard(status, [&]() -> Status {
    RETURN_IF_ERROR(RequireAll({{"graph", graph}}));
    ASSIGN_OR_RETURN(const Output refined, UnwrapOutput(output, "the tensor"));
    if (&refined.node->graph() != graph->graph.get()) {
      return InvalidArgument(refined.node->Label(), " is a node of another graph");
    }
    if (rank < 0) return OkStatus();
    RETURN_IF_ERROR(CheckArray(dims, rank, "dimension"));
    ASSIGN_OR_RETURN(const PartialShape shape,
                     PartialShape::Make({dims, static_cast<size_t>(rank)}));
    return NodeMaker::RefineShape(refined, shape);
  });
}

const char* tw_node_name(const TwNode* node) {
  return node == nullptr ? "" : Unwrap(node)->name().c_str();
}
const char* tw_node_op(const TwNode* node) {
  return node == nullptr ? "" : Unwrap(node)->op_name().c_str();
}
const char* tw_node_device(const TwNode* node) {
  return node == nullptr ? "" : Unwrap(node)->device().c_str();
}
const char* tw_node_site(const TwNode* node) {
  if (node == nullptr) return "";
  const Node* n = Unwrap(node);
  return n->graph().Site(n->site()).c_str();
}
int32_t tw_node_id(const TwNode* node) { return node == nullptr ? -1 : Unwrap(node)->id(); }
int32_t tw_node_num_inputs(const TwNode* node) {
  return node == nullptr ? 0 : Unwrap(node)->num_inputs();
}
TwOutput tw_node_input(const TwNode* node, int32_t i) {
  const bool there = i >= 0 && i < tw_node_num_inputs(node);
  return there ? Wrap(Unwrap(node)->input(i)) : TwOutput{nullptr, 0};
}
int32_t tw_node_num_control_inputs(const TwNode* node) {
  return node == nullptr ? 0 : static_cast<int32_t>(Unwrap(node)->control_inputs().size());
}
TwNode* tw_node_control_input(const TwNode* node, int32_t i) {
  if (node == nullptr) return nullptr;
  const std::vector<Node*>& before = Unwrap(node)->control_inputs();
  return i >= 0 && i < static_cast<int32_t>(before.size()) ? Wrap(before[static_cast<size_t>(i)])
                                                           : nullptr;
}
int32_t tw_node_num_outputs(const TwNode* node) {
  return node == nullptr ? 0 : Unwrap(node)->num_outputs();
}

TwDataType tw_output_dtype(TwOutput output) {
  const Output o = Unwrap(output);
  if (o.node == nullptr || o.index < 0 || o.index >= o.node->num_outputs()) return 0;
  const auto dtype = static_cast<TwDataType>(o.node->output_type(o.index));
  return o.node->output_is_ref(o.index) ? dtype + kRefOffset : dtype;
}

int32_t tw_output_shape(TwOutput output, int64_t* dims, int32_t capacity) {
  const Output o = Unwrap(output);
  if (o.node == nullptr || o.index < 0 || o.index >= o.node->num_outputs()) return -1;
  const PartialShape& shape = o.node->output_shape(o.index);
  for (int i = 0; dims != nullptr && i < shape.rank() && i < capacity; ++i) dims[i] = shape.dim(i);
  return shape.rank();
}

}  // extern "C"
