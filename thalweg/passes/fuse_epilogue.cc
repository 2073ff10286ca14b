// SPDX-License-Identifier: Apache-2.0
#include "thalweg/passes/fuse_epilogue.h"

#include <algorithm>

#include "thalweg/passes/asked_device.h"
#include "thalweg/passes/fuse_batch_norm.h"
#include "thalweg/passes/graph_copier.h"

namespace thalweg {
namespace {

bool IsOneOf(const Node& node, std::initializer_list<std::string_view> ops) {
  return std::find(ops.begin(), ops.end(), node.op_name()) != ops.end();
}

bool MayMove(const Node& node) { return node.FindAttr("_class") == nullptr && MayBeOnCpu(node); }

// May become part of a fused node as far as it alone says.
bool MayFuse(const Node& node) {
  return node.num_outputs() == 1 && node.output_type(0) == DType::kFloat && MayMove(node) &&
         node.input_type(0) == DType::kFloat;
}

bool IsChannelsLast(const Node& node) {
  const AttrValue* format = node.FindAttr("data_format");
  return format == nullptr || *format == AttrValue(std::string("NHWC"));
}

// Normalizes by moments that it is given.
bool IsInferenceNorm(const Node& node) {
  if (!IsOneOf(node, {"FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"})) return false;
  const AttrValue* training = node.FindAttr("is_training");
  if (training == nullptr || !(*training == AttrValue(false))) return false;
  for (int i = 0; i < 5; ++i) {
    if (node.input_type(i) != DType::kFloat) return false;
  }
  return MayMove(node) && IsChannelsLast(node);
}

int64_t StaticDim(const Output& output, int rank, int dim) {
  const PartialShape& shape = output.shape();
  return shape.known_rank() && shape.rank() == rank ? shape.dim(dim) : -1;
}

// The nodes that become one, in order, and what the new one is made of.
struct Chain {
  std::vector<const Node*> nodes;
  std::vector<Output> args;  // in the old graph
  std::vector<std::string> ops;
  const Node* last() const { return nodes.back(); }
  bool is_conv() const { return nodes.front()->op_name() == "Conv2D"; }
  int rank() const { return is_conv() ? 4 : 2; }
};

class EpilogueFuser {
 public:
  explicit EpilogueFuser(const StepGraph& step) : step_(step), copier_(step) {}

  Result<StepGraph> Run() {
    const std::vector<Node*> nodes = step_.graph->Nodes();
    FindReaders(nodes);
    chain_of_.assign(nodes.size(), -1);
    std::vector<Chain> chains;
    for (const Node* node : nodes) {
      if (!IsOneOf(*node, {"Conv2D", "MatMul"}) || !MayFuse(*node)) continue;
      if (!IsChannelsLast(*node)) continue;
      Chain chain = Follow(*node);
      if (chain.nodes.size() < 2) continue;
      for (const Node* part : chain.nodes) chain_of_[part->id()] = static_cast<int>(chains.size());
      chains.push_back(std::move(chain));
    }
    if (chains.empty()) return step_;
    for (const Node* node : nodes) {
      const int chain = chain_of_[node->id()];
      if (chain < 0) {
        copier_.Copy(*node);
      } else if (chains[chain].last() == node) {
        RETURN_IF_ERROR(Make(chains[chain]));
      }
    }
    return copier_.Finish();
  }

 private:
  // By id: the one reader of a node's values; null when there are several, or others who look.
  void FindReaders(const std::vector<Node*>& nodes) {
    readers_.resize(nodes.size());
    more_used_.resize(nodes.size());
    std::vector<int> uses(nodes.size());
    for (const Node* node : nodes) {
      for (const Output& input : node->inputs()) {
        if (input.node == nullptr) continue;
        ++uses[input.node->id()];
        readers_[input.node->id()] = node;
        if (input.index > 0) more_used_[input.node->id()] = true;
      }
      for (const Node* before : node->control_inputs()) uses[before->id()] += 2;
    }
    for (const Output& fetch : step_.fetches) {
      uses[fetch.node->id()] += 2;
      if (fetch.index > 0) more_used_[fetch.node->id()] = true;
    }
    for (const Node* target : step_.targets) uses[target->id()] += 2;
    for (size_t id = 0; id < nodes.size(); ++id) {
      if (uses[id] != 1) readers_[id] = nullptr;
    }
  }

  // The sole reader of `node`, when it may join it.
  const Node* Next(const Node& node) const {
    const Node* next = readers_[node.id()];
    const bool may = next != nullptr && (MayFuse(*next) || IsInferenceNorm(*next)) &&
                     next->device() == node.device() && chain_of_[next->id()] < 0;
    return may ? next : nullptr;
  }

  Chain Follow(const Node& product) const {
    Chain chain{{&product}, {}, {}};
    const Node* next = Next(product);
    if (next != nullptr && IsBias(chain, *next)) {
      Join(&chain, next, "BiasAdd", {Other(*next, product)});
      next = Next(*next);
    } else if (next != nullptr && chain.is_conv() && IsInferenceNorm(*next) &&
               next->input(0).node == &product && !more_used_[next->id()]) {
      Join(&chain, next, "FusedBatchNorm",
           {next->input(1), next->input(2), next->input(3), next->input(4)});
      next = Next(*next);
    }
    if (next != nullptr && !chain.args.empty() && IsResidual(chain, *next)) {
      Join(&chain, next, "Add", {Other(*next, *chain.last())});
      next = Next(*next);
    }
    // _FusedConv2D has one arg at least.
    const bool may = next != nullptr && !(chain.is_conv() && chain.args.empty());
    if (may && next->input(0) == ResultOf(*chain.last()) &&
        IsOneOf(*next, {"Relu", "Relu6", "Elu", "Tanh", "Sigmoid", "LeakyRelu"})) {
      Join(&chain, next, next->op_name(), {});
    }
    return chain;
  }

  static void Join(Chain* chain, const Node* node, const std::string& op,
                   std::initializer_list<Output> args) {
    chain->nodes.push_back(node);
    chain->ops.push_back(op);
    chain->args.insert(chain->args.end(), args);
  }

  static Output ResultOf(const Node& node) { return {const_cast<Node*>(&node), 0}; }

  // The input of a node of two that is not from `node`.
  static Output Other(const Node& of, const Node& node) {
    return of.input(of.input(0).node == &node ? 1 : 0);
  }

  static bool IsBias(const Chain& chain, const Node& next) {
    const Output result = ResultOf(*chain.last());
    if (IsOneOf(next, {"BiasAdd", "BiasAddV1"})) {
      return IsChannelsLast(next) && next.input(0) == result;
    }
    if (!IsOneOf(next, {"Add", "AddV2"})) return false;
    const int64_t n = StaticDim(result, chain.rank(), chain.rank() - 1);
    return n >= 0 && StaticDim(Other(next, *chain.last()), 1, 0) == n;
  }

  static bool IsResidual(const Chain& chain, const Node& next) {
    if (!IsOneOf(next, {"Add", "AddV2"})) return false;
    const Output result = ResultOf(*chain.last()), other = Other(next, *chain.last());
    if (next.input(0) != result && next.input(1) != result) return false;
    for (int d = 0; d < chain.rank(); ++d) {
      const int64_t size = StaticDim(result, chain.rank(), d);
      if (size < 0 || StaticDim(other, chain.rank(), d) != size) return false;
    }
    return true;
  }

  Status Make(const Chain& chain) {
    const Node& product = *chain.nodes.front();
    NodeSpec spec;
    spec.name = chain.last()->name();
    spec.op = chain.is_conv() ? "_FusedConv2D" : "_FusedMatMul";
    for (int i : {0, 1}) spec.inputs.push_back(copier_.Map(product.input(i)));
    for (const Output& arg : chain.args) spec.inputs.push_back(copier_.Map(arg));
    std::string from;
    for (const Node* node : chain.nodes) {
      from += StrCat(from.empty() ? "" : ", ", node->Label());
      for (const Node* before : node->control_inputs()) {
        Node* const now = copier_.Map(before);
        const auto& known = spec.control_inputs;
        if (now != nullptr && std::find(known.begin(), known.end(), now) == known.end()) {
          spec.control_inputs.push_back(now);
        }
      }
      const AttrValue* alpha = node->op_name() == "LeakyRelu" ? node->FindAttr("alpha") : nullptr;
      if (alpha != nullptr) spec.attrs.Set("leakyrelu_alpha", *alpha);
      const AttrValue* epsilon = IsInferenceNorm(*node) ? node->FindAttr("epsilon") : nullptr;
      if (epsilon != nullptr) spec.attrs.Set("epsilon", *epsilon);
    }
    for (const char* attr : {"transpose_a", "transpose_b", "strides", "padding",
                             "explicit_paddings", "data_format", "dilations"}) {
      const AttrValue* value = product.FindAttr(attr);
      if (value != nullptr) spec.attrs.Set(attr, *value);
    }
    if (chain.is_conv()) {
      spec.attrs.Set("TArgs", std::vector<DType>(chain.args.size(), DType::kFloat));
    }
    spec.attrs.Set("T", DType::kFloat);
    spec.attrs.Set("num_args", static_cast<int64_t>(chain.args.size()));
    spec.attrs.Set("fused_ops", chain.ops);
    spec.attrs.Set("_fused_from", from);
    spec.device = product.device();
    spec.site = copier_.graph().InternSite(product.graph().Site(product.site()));
    ASSIGN_OR_RETURN(Node * made, copier_.graph().AddNode(std::move(spec)));
    copier_.Replace(*chain.last(), made);
    copier_.SetOrigin(*made, step_.Origin(*chain.last()));
    return OkStatus();
  }

  const StepGraph& step_;
  GraphCopier copier_;
  std::vector<const Node*> readers_;
  std::vector<bool> more_used_;  // by id: somebody wants outputs beside the first
  std::vector<int> chain_of_;    // by id; -1: of none
};

class WeightMarker {
 public:
  explicit WeightMarker(const StepGraph& step) : step_(step), copier_(step) {}

  Result<StepGraph> Run() {
    const std::vector<Node*> nodes = step_.graph->Nodes();
    written_.resize(nodes.size());
    for (const Node* node : nodes) FindWritten(*node);
    std::vector<const Node*> weights(nodes.size());
    bool any = false;
    for (const Node* node : nodes) {
      if (!MayKeep(*node)) continue;
      weights[node->id()] = WeightOf(*node);
      any |= weights[node->id()] != nullptr;
    }
    if (!any) return step_;
    for (const Node* node : nodes) {
      if (weights[node->id()] == nullptr) {
        copier_.Copy(*node);
      } else {
        RETURN_IF_ERROR(Make(*node, *weights[node->id()]));
      }
    }
    return copier_.Finish();
  }

 private:
  static constexpr int64_t kLeastDim = 8;  // below, a product of floats reads b as it lies
  static constexpr int64_t kLeastElements = 4096;

  // What the value comes from unchanged.
  static const Node* Source(Output value) {
    for (;;) {
      const Node& node = *value.node;
      const AttrValue* constant =
          node.op_name() == "Enter" ? node.FindAttr("is_constant") : nullptr;
      const bool passes = node.op_name() == "Identity" || node.op_name() == "ReadVariableOp" ||
                          (constant != nullptr && *constant == AttrValue(true));
      if (!passes || node.input(0).node == nullptr) return &node;
      value = node.input(0);
    }
  }

  void FindWritten(const Node& node) {
    for (int i = 0; i < node.num_inputs(); ++i) {
      if (node.input(i).node == nullptr) continue;
      const bool handle = node.input_type(i) == DType::kResource &&
                          !IsOneOf(node, {"ReadVariableOp", "Identity", "Enter", "VariableShape",
                                          "VarIsInitializedOp"});
      if (!handle && !node.input_is_ref(i)) continue;
      // References pass through operations that give theirs on, such as Assign.
      const Node* source = Source(node.input(i));
      while (source->num_inputs() > 0 && source->input_is_ref(0) &&
             source->input(0).node != nullptr)
        source = Source(source->input(0));
      // Handles of another kind.
      if (IsOneOf(*source, {"StackV2", "TensorArrayV3", "TensorArrayGradV3"})) continue;
      written_[source->id()] = true;
      unknown_writer_ |= source->num_inputs() > 0;
    }
  }

  static bool IsProduct(const Node& node) { return IsOneOf(node, {"MatMul", "_FusedMatMul"}); }

  static bool IsLevelProduct(const Node& node) {
    return node.op_name().starts_with("QuantizedMatMul") ||
           node.op_name().starts_with("QuantizedConv2D");
  }

  static bool MayKeep(const Node& node) {
    if (IsProduct(node)) return MayFuse(node);
    if (IsLevelProduct(node)) return MayMove(node);
    return IsOneOf(node, {"Conv2D", "Conv2DBackpropInput", "_FusedConv2D"}) && MayMove(node) &&
           node.output_type(0) == DType::kFloat;
  }

  static bool HasMatrix(const Node& node) {
    return IsProduct(node) || node.op_name().starts_with("QuantizedMatMul");
  }

  static bool IsLarge(const Node& node) {
    const PartialShape& shape = node.input(1).shape();
    if (!shape.known_rank() || !shape.IsFullyDefined()) return false;
    if (!HasMatrix(node)) return shape.rank() == 4 && shape.num_elements() >= kLeastElements;
    const int64_t least = IsProduct(node) ? kLeastDim : 1;
    return shape.rank() == 2 && shape.dim(0) >= least && shape.dim(1) >= least &&
           shape.dim(0) >= kLeastElements / shape.dim(1);
  }

  const Node* WeightOf(const Node& node) const {
    if (!IsLarge(node)) return nullptr;
    const Node* source = Source(node.input(1));
    if (source->op_name() == "Const") return source;
    const bool variable = IsOneOf(*source, {"VariableV2", "Variable", "VarHandleOp"});
    return variable && !written_[source->id()] && !unknown_writer_ ? source : nullptr;
  }

  // What tells the forms of one weight apart.
  static std::string Form(const Node& node) {
    if (node.op_name() == "Conv2D") return " convolving";
    if (node.op_name() == "Conv2DBackpropInput") return " convolving backwards";
    if (node.op_name() == "_FusedConv2D") return StrCat(" in ", node.name());  // may be scaled
    if (node.op_name().starts_with("QuantizedConv2D")) return " convolving levels";
    return *node.FindAttr("transpose_b") == AttrValue(true) ? " transposed" : "";
  }

  Status Make(const Node& node, const Node& weight) {
    NodeSpec spec;
    spec.name = node.name();
    spec.op = IsProduct(node) ? "_FusedMatMul" : node.op_name();
    for (const Output& input : node.inputs()) spec.inputs.push_back(copier_.Map(input));
    for (const Node* before : node.control_inputs()) {
      Node* const now = copier_.Map(before);
      if (now != nullptr) spec.control_inputs.push_back(now);
    }
    if (node.op_name() != "MatMul") {
      spec.attrs = node.attrs();
    } else {
      spec.attrs.Set("T", DType::kFloat);
      spec.attrs.Set("num_args", int64_t{0});
      for (const char* attr : {"transpose_a", "transpose_b"}) {
        spec.attrs.Set(attr, *node.FindAttr(attr));
      }
    }
    if (node.op_name() == "MatMul") spec.attrs.Set("_fused_from", node.Label());
    spec.attrs.Set("_weight", StrCat(weight.name(), Form(node)));
    ASSIGN_OR_RETURN(Node * made, copier_.Make(node, std::move(spec)));
    copier_.Replace(node, made);
    return OkStatus();
  }

  const StepGraph& step_;
  GraphCopier copier_;
  std::vector<bool> written_;    // by id: variables
  bool unknown_writer_ = false;  // writes through something that this pass does not see through
};

}  // namespace

Result<StepGraph> FuseEpilogues(const StepGraph& step) {
  ASSIGN_OR_RETURN(const StepGraph fused, EpilogueFuser(step).Run());
  return FuseBatchNorms(fused);
}

Result<StepGraph> MarkWeights(const StepGraph& step) { return WeightMarker(step).Run(); }

}  // namespace thalweg
