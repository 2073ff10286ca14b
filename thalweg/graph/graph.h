// SPDX-License-Identifier: Apache-2.0
// Graph: nodes, data edges and control edges. Only grows; a node never changes once it is there
// (the back edge of a loop, which closes a cycle, is set once after its Merge exists).
//
//   Graph graph(registry);
//   ASSIGN_OR_RETURN(
//       Node* y, graph.AddNode({.name = "y", .op = "MatMul", .inputs = {{a, 0}, {b, 0}}}));
//
// AddNode checks the schema: number and types of inputs, attributes (inferred, defaulted, checked),
// and infers shapes. What it refuses leaves the graph as it was; the message names node, operation,
// argument and remedy.
// Ownership: the graph owns its nodes; Node pointers stay valid as long as it lives.
// Threads: all members of Graph may be called from any thread. A Node may be read without a lock
// once AddNode has returned it; SetBackEdge must come before the node runs.
// Errors: InvalidArgument for a node that its schema refuses, NotFound for an unknown operation or
// argument, FailedPrecondition for a back edge set twice, ResourceExhausted for too many nodes.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "thalweg/base/status.h"
#include "thalweg/graph/attr_value.h"
#include "thalweg/graph/op_registry.h"

namespace thalweg {

class Node;
class Graph;
class FunctionLibrary;

// One output of a node: the source of data edges. A null node means "none" (an open back edge).
struct Output {
  Node* node = nullptr;
  int index = 0;
  // "name" for index 0, else "name:index".
  std::string ToString() const;
  DType dtype() const;
  const PartialShape& shape() const;
  friend bool operator==(const Output&, const Output&) = default;
};

// What a resource edge leads to, as far as inference knows.
struct HandleShape {
  DType dtype = DType::kInvalid;
  PartialShape shape;
};

struct NodeSpec {
  std::string name;  // made unique from the operation's name when empty
  std::string op;
  std::vector<Output> inputs;  // flat: the edges of list arguments one after the other
  std::vector<Node*> control_inputs;
  AttrMap attrs;             // without those inferred from inputs or left at their default
  std::string device;        // as the user asked: "" or a full or partial device name
  uint32_t site = 0;         // where the user made it: Graph::InternSite
  bool make_unique = false;  // a name that is taken gets "_1", "_2" ... instead of an error
};

class Node {
 public:
  Node() = default;  // useful ones come from Graph::AddNode
  // Dense, in order of creation.
  int id() const { return id_; }
  const std::string& name() const { return name_; }
  const OpEntry& op() const { return *op_; }
  const std::string& op_name() const { return op_->def.name; }
  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  // A null Output for a back edge that is still open.
  const Output& input(int i) const { return inputs_[i]; }
  const std::vector<Output>& inputs() const { return inputs_; }
  const std::vector<Node*>& control_inputs() const { return control_inputs_; }
  // As this node sees it: a reference edge read by a plain argument is plain.
  DType input_type(int i) const { return input_types_[i]; }
  bool input_is_ref(int i) const { return ref_inputs_ && RefInput(i); }
  int num_outputs() const { return static_cast<int>(outputs_.size()); }
  DType output_type(int i) const { return outputs_[i].dtype; }
  bool output_is_ref(int i) const { return outputs_[i].is_ref; }
  const PartialShape& output_shape(int i) const { return outputs_[i].shape; }
  // Null when nothing is known, or the output is no handle.
  const HandleShape* output_handle_shape(int i) const { return outputs_[i].handle.get(); }
  // [begin, end) of the flat inputs (outputs) that argument `arg` of the schema stands for;
  // NotFound otherwise.
  Result<std::pair<int, int>> InputRange(std::string_view arg) const;
  Result<std::pair<int, int>> OutputRange(std::string_view arg) const;

  // Given, inferred or default; null when the operation has no such attribute.
  const AttrValue* FindAttr(std::string_view name) const;
  // InvalidArgument naming node, attribute and kinds.
  template <class T>
  Result<T> Attr(std::string_view name) const;
  // Given or inferred ones only.
  const AttrMap& attrs() const { return attrs_; }
  const std::string& device() const { return device_; }
  uint32_t site() const { return site_; }
  // "MatMul 'layer1/matmul'".
  std::string Label() const;
  Graph& graph() const { return *graph_; }

  // The flow-control primitives, by flag: tested on hot paths of the compiler.
  enum class Control : uint8_t { kNone, kSwitch, kMerge, kEnter, kExit, kNextIteration, kLoopCond };
  Control control() const { return control_; }

 private:
  friend class Graph;
  friend class NodeMaker;  // node_maker.cc: checks and inference of AddNode
  struct OutputInfo {
    DType dtype = DType::kInvalid;
    bool is_ref = false;
    PartialShape shape;
    std::unique_ptr<HandleShape> handle;
  };
  bool RefInput(int i) const;

  Graph* graph_ = nullptr;
  int id_ = 0;
  uint32_t site_ = 0;
  Control control_ = Control::kNone;
  bool ref_inputs_ = false;
  const OpEntry* op_ = nullptr;
  std::string name_;
  std::string device_;
  std::vector<Output> inputs_;
  std::vector<Node*> control_inputs_;
  std::vector<DType> input_types_;
  std::vector<OutputInfo> outputs_;
  AttrMap attrs_;
};

template <class T>
Result<T> Node::Attr(std::string_view name) const {
  const AttrValue* value = FindAttr(name);
  if (value == nullptr) return InvalidArgument(Label(), " has no attribute '", name, "'");
  Result<T> result = value->Get<T>();
  if (!result.ok()) return result.status().WithContext(StrCat(Label(), ", attribute '", name, "'"));
  return result;
}

struct Versions {
  int producer = 2470;
  int min_consumer = 0;
  std::vector<int> bad_consumers;
};

class Graph {
 public:
  // The registry must outlive the graph; sessions and front ends share it.
  explicit Graph(std::shared_ptr<const OpRegistry> registry);
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // For Merge, an input may be a null Output: a back edge to be set later.
  Result<Node*> AddNode(NodeSpec spec);
  // A copy of a node of another graph with the given inputs: nothing is checked or inferred again
  // (the passes' way).
  Node* CopyNode(const Node& node, std::vector<Output> inputs, std::vector<Node*> control_inputs);
  // Closes a loop: input `index` of a Merge that was made with a null Output. FailedPrecondition
  // when it is set already, InvalidArgument when types differ or the source is no NextIteration.
  Status SetBackEdge(Node* merge, int index, Output source);
  // Adds a control edge to a node that has not run. Refuses one that would close a cycle with the
  // node itself.
  Status AddControlInput(Node* node, Node* before);

  // Null when there is none.
  Node* FindNode(std::string_view name) const;
  // "name", "name:0": InvalidArgument with the reason (no such node, no such output, nearest
  // names).
  Result<Output> FindOutput(std::string_view text) const;
  int num_nodes() const;
  // By id; null when there is none.
  Node* NodeById(int id) const;
  // The nodes there now, by id.
  std::vector<Node*> Nodes() const;
  // name, name_1, name_2 ...: the first that is free, and reserves nothing.
  std::string UniqueName(std::string_view prefix) const;
  // The first free name of a scope, without its slash. It is reserved: no node and no later scope
  // gets it.
  std::string UniqueScope(std::string_view prefix);
  // Text such as "train.py:41 in build"; 0 is "unknown".
  uint32_t InternSite(std::string_view text);
  const std::string& Site(uint32_t site) const;

  // The nodes that are there now, from id `first` on, are a tool's that looks into the graph, and
  // not the program's: sessions do not take them for a graph that grows.
  void SetAside(int first);
  // Ids of [begin, end) that were not set aside.
  std::vector<int> NodesOfProgram(int begin, int end) const;

  // What a NodeDef had that this library keeps but does not read: a serialized NodeDef.
  void SetWireExtras(const Node& node, std::string bytes);
  std::string WireExtras(const Node& node) const;
  // Takes nodes out again that were just added: for an import that failed half way. They must be
  // the last ones; when somebody else has added nodes meanwhile, they stay.
  void TakeBack(const std::vector<Node*>& added);

  const OpRegistry& registry() const { return *registry_; }
  const std::shared_ptr<const OpRegistry>& shared_registry() const { return registry_; }
  Versions& versions() { return versions_; }
  const Versions& versions() const { return versions_; }
  // Functions that came with a GraphDef or were defined by a user. Never null.
  FunctionLibrary& library() const { return *library_; }

 private:
  bool IsTaken(std::string_view name) const;             // needs mutex_
  std::string FirstFree(std::string_view prefix) const;  // needs mutex_
  Result<Node*> Insert(std::unique_ptr<Node> node, bool make_unique);
  bool Reaches(const Node* from, const Node* to) const;  // needs mutex_

  std::shared_ptr<const OpRegistry> registry_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::unordered_map<std::string_view, Node*> by_name_;
  mutable std::unordered_map<std::string, int> next_suffix_;
  std::unordered_set<std::string> scopes_;
  int latest_source_ = -1;  // of control edges that lead from newer to older nodes
  std::vector<std::unique_ptr<std::string>> sites_;
  std::unordered_map<std::string_view, uint32_t> site_ids_;
  std::unordered_map<const Node*, std::string> wire_extras_;
  std::vector<bool> set_aside_;  // by id; none beyond its end
  Versions versions_;
  std::unique_ptr<FunctionLibrary> library_;
};

}  // namespace thalweg
