// SPDX-License-Identifier: Apache-2.0
#include "thalweg/model/frozen_graph.h"

#include <algorithm>
#include <utility>

#include "thalweg/graph/graph_proto.h"
#include "thalweg/model/frozen_names.h"
#include "thalweg/model/signature_step.h"
#include "thalweg/model/weights.h"
#include "thalweg/passes/fold_batch_norm.h"
#include "thalweg/passes/fold_constants.h"
#include "thalweg/passes/fold_variables.h"
#include "thalweg/passes/prune.h"
#include "thalweg/session/host_evaluator.h"

namespace thalweg {
namespace {

// A table that outlives the step, and so is filled by somebody else.
bool IsTable(const Node& node) {
  const std::string& op = node.op_name();
  return op.find("HashTable") != std::string::npos && !op.starts_with("Anonymous");
}

bool IsStatic(const Node& table) { return table.op_name().starts_with("HashTable"); }

class Freezer {
 public:
  Freezer(const Model& model, const FreezeOptions& options)
      : model_(model), options_(options), graph_(*model.graph()) {}

  Result<StepGraph> Freeze(StepGraph step) {
    RETURN_IF_ERROR(CheckNodes(step));
    ASSIGN_OR_RETURN(const VariableValues values, ReadVariables(step));
    ASSIGN_OR_RETURN(step, FoldVariables(step, values));
    HostEvaluator evaluator(model_.session()->environment());
    const int64_t limit = SessionOptions().fold_limit_bytes;
    ASSIGN_OR_RETURN(step, FoldConstants(step, evaluator, limit));
    if (options_.fold_batch_norms) {
      ASSIGN_OR_RETURN(step, FoldBatchNorms(step));
    }
    return Prune(step);
  }

  // Adds what fills the tables of the step; "" where it has none.
  Result<std::string> AddInitializer(const StepGraph& step) {
    std::vector<const Node*> tables;
    for (const Node* node : step.graph->Nodes()) {
      if (IsTable(*node)) tables.push_back(node);
    }
    if (tables.empty()) return std::string();
    ASSIGN_OR_RETURN(const std::vector<Tensor> contents, ReadTables(tables));
    std::vector<Node*> filled;
    for (size_t i = 0; i < tables.size(); ++i) {
      ASSIGN_OR_RETURN(Node * one,
                       AddFill(*step.graph, *tables[i], contents[2 * i], contents[2 * i + 1]));
      filled.push_back(one);
    }
    ASSIGN_OR_RETURN(Node * all, step.graph->AddNode({.name = "fill_tables",
                                                      .op = "NoOp",
                                                      .control_inputs = std::move(filled),
                                                      .make_unique = true}));
    return all->name();
  }

 private:
  Status CheckNodes(const StepGraph& step) const {
    for (const Node* node : step.graph->Nodes()) {
      if (node->op_name() == "_RuntimeCall") {
        return FailedPrecondition("a function calls itself, '", node->name(),
                                  "', which a graph without functions cannot");
      }
      if (IsTable(*node) && !options_.with_tables) {
        return FailedPrecondition("it looks things up in ", node->Label(),
                                  ", and nothing in a GraphDef fills a table: convert it to a "
                                  "SavedModel");
      }
    }
    return OkStatus();
  }

  // The node of the model's graph that a node of a step is.
  Result<Node*> Original(const Node& node) const {
    Node* const found = graph_.FindNode(node.name());
    if (found == nullptr || found->op_name() != node.op_name()) {
      return Unimplemented(node.Label(), " is made inside of a function");
    }
    return found;
  }

  Result<VariableValues> ReadVariables(const StepGraph& step) {
    std::vector<std::string> names;
    Signature reads;
    for (const Node* node : step.graph->Nodes()) {
      if (!IsVariable(*node)) continue;
      ASSIGN_OR_RETURN(Node* const variable, Original(*node));
      ASSIGN_OR_RETURN(const Output value, ReadOf(variable));
      names.push_back(node->name());
      reads.fetches.push_back(value);
    }
    std::vector<Tensor> values(names.size());
    VariableValues found;
    if (names.empty()) return found;
    RETURN_IF_ERROR(model_.session()->Run(options_.run, reads, {}, values));
    for (size_t i = 0; i < names.size(); ++i) found[names[i]] = std::move(values[i]);
    return found;
  }

  // A node that an earlier call added to the model's graph; null where there is none.
  Node* Added(const std::string& name, std::string_view op, const Node* of) const {
    Node* const found = graph_.FindNode(name);
    const bool is_it = found != nullptr && found->op_name() == op && found->num_inputs() == 1 &&
                       found->input(0).node == of;
    return is_it ? found : nullptr;
  }

  // What gives the value of a variable; the model's graph gets a node for a resource that it never
  // reads itself.
  Result<Output> ReadOf(Node* variable) {
    if (variable->op_name() != "VarHandleOp") return Output{variable, 0};
    const std::string name = StrCat(variable->name(), "/frozen_value");
    if (Node* const found = Added(name, "ReadVariableOp", variable); found != nullptr) {
      return Output{found, 0};
    }
    ASSIGN_OR_RETURN(const DType dtype, variable->Attr<DType>("dtype"));
    ASSIGN_OR_RETURN(Node * read, graph_.AddNode({.name = name,
                                                  .op = "ReadVariableOp",
                                                  .inputs = {{variable, 0}},
                                                  .attrs = {{"dtype", dtype}},
                                                  .make_unique = true}));
    return Output{read, 0};
  }

  // The keys and the values of each.
  Result<std::vector<Tensor>> ReadTables(const std::vector<const Node*>& tables) {
    Signature reads;
    for (const Node* table : tables) {
      ASSIGN_OR_RETURN(Node* const original, Original(*table));
      const std::string name = StrCat(original->name(), "/frozen_contents");
      const std::string op = StrCat("LookupTableExport", Version(*table));
      Node* made = Added(name, op, original);
      if (made == nullptr) {
        ASSIGN_OR_RETURN(AttrMap types, TypesOf(*table, "Tkeys", "Tvalues"));
        ASSIGN_OR_RETURN(made, graph_.AddNode({.name = name,
                                               .op = op,
                                               .inputs = {{original, 0}},
                                               .attrs = std::move(types),
                                               .make_unique = true}));
      }
      reads.fetches.push_back({made, 0});
      reads.fetches.push_back({made, 1});
    }
    std::vector<Tensor> contents(reads.fetches.size());
    RETURN_IF_ERROR(model_.session()->Run(options_.run, reads, {}, contents));
    return contents;
  }

  // "V2" for tables that are resources.
  static std::string_view Version(const Node& table) {
    return table.output_type(0) == DType::kResource ? "V2" : "";
  }

  static Result<AttrMap> TypesOf(const Node& table, std::string_view key, std::string_view value) {
    ASSIGN_OR_RETURN(const DType keys, table.Attr<DType>("key_dtype"));
    ASSIGN_OR_RETURN(const DType values, table.Attr<DType>("value_dtype"));
    AttrMap types;
    types.Set(key, keys);
    types.Set(value, values);
    return types;
  }

  static Result<Node*> AddFill(Graph& graph, const Node& table, const Tensor& keys,
                               const Tensor& values) {
    const auto constant = [&](std::string_view what, const Tensor& value) {
      return graph.AddNode({.name = StrCat(table.name(), "/", what),
                            .op = "Const",
                            .attrs = {{"dtype", value.dtype()}, {"value", value}},
                            .make_unique = true});
    };
    ASSIGN_OR_RETURN(Node* const all_keys, constant("keys", keys));
    ASSIGN_OR_RETURN(Node* const all_values, constant("values", values));
    const bool is_static = IsStatic(table);
    ASSIGN_OR_RETURN(AttrMap types,
                     is_static ? TypesOf(table, "Tkey", "Tval") : TypesOf(table, "Tin", "Tout"));
    return graph.AddNode(
        {.name = StrCat(table.name(), "/fill"),
         .op = StrCat(is_static ? "InitializeTable" : "LookupTableImport", Version(table)),
         .inputs = {{const_cast<Node*>(&table), 0}, {all_keys, 0}, {all_values, 0}},
         .attrs = std::move(types),
         .make_unique = true});
  }

  const Model& model_;
  const FreezeOptions& options_;
  Graph& graph_;
};

// The functions that nodes still name, as of a dataset.
void AddLibrary(const Graph& model, const Graph& frozen, Message* graph_def) {
  const std::vector<Node*> nodes = frozen.Nodes();
  const auto names_function = [](const Node* node) {
    return std::any_of(node->attrs().begin(), node->attrs().end(), [](const AttrMap::Entry& attr) {
      return attr.second.kind() == AttrValue::Kind::kFunction ||
             attr.second.kind() == AttrValue::Kind::kFunctionList;
    });
  };
  if (!std::any_of(nodes.begin(), nodes.end(), names_function)) return;
  ExportFunctions(model.library(), graph_def->Mutable(pb::GraphDef::kLibrary));
}

}  // namespace

Result<FrozenGraph> FreezeSignature(const Model& model, size_t signature,
                                    const FreezeOptions& options) {
  Environment& environment = model.session()->environment();
  WorkBudget work({.what = "the model was still being frozen",
                   .clock = &environment.clock(),
                   .timeout = options.run.timeout,
                   .cancellations = {options.run.cancellation, nullptr}});
  ASSIGN_OR_RETURN(SignatureStep part, StepOfSignature(model, signature, work));
  Freezer freezer(model, options);
  ASSIGN_OR_RETURN(const StepGraph step, freezer.Freeze(std::move(part.step)));
  FrozenGraph frozen;
  ASSIGN_OR_RETURN(frozen.initializer, freezer.AddInitializer(step));
  ASSIGN_OR_RETURN(frozen.graph_def, ExportGraphDef(*step.graph, {.for_1_15 = true}));
  AddLibrary(*model.graph(), *step.graph, &*frozen.graph_def);
  RETURN_IF_ERROR(NameAsSignature(model.signatures()[signature], part.feed_of, step, &frozen));
  return frozen;
}

}  // namespace thalweg
