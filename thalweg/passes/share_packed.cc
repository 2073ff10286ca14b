// SPDX-License-Identifier: Apache-2.0
#include "thalweg/passes/share_packed.h"

#include <map>
#include <tuple>

#include "thalweg/passes/asked_device.h"
#include "thalweg/passes/graph_copier.h"

namespace thalweg {
namespace {

constexpr int kLeastReaders = 3;
// Below, a product reads b as it lies.
constexpr int64_t kLeastDim = 8;
constexpr int64_t kLeastElements = 4096;
// The least rows of a: fewer are summed in another order where b is transposed, for more it pays to
// pack b by parts that stay in the cache.
constexpr int64_t kLeastRows = 7;
constexpr int64_t kMostRows = 256;

bool IsTrue(const Node& node, const char* attr) {
  const AttrValue* value = node.FindAttr(attr);
  return value != nullptr && *value == AttrValue(true);
}

bool IsMatrix(const PartialShape& shape) { return shape.known_rank() && shape.rank() == 2; }

// A product of floats that may read a packed b, as far as it alone says.
bool MayRead(const Node& node) {
  if ((node.op_name() != "MatMul" && node.op_name() != "_FusedMatMul") ||
      node.output_type(0) != DType::kFloat || node.FindAttr("_class") != nullptr ||
      node.FindAttr("_weight") != nullptr || !MayBeOnCpu(node)) {
    return false;
  }
  const Output& b = node.input(1);
  if (b.node == nullptr || b.node->output_is_ref(b.index)) return false;
  const PartialShape& shape = b.shape();
  if (!IsMatrix(node.input(0).shape()) || !IsMatrix(shape) || !shape.IsFullyDefined()) return false;
  const int64_t rows = node.input(0).shape().dim(IsTrue(node, "transpose_a") ? 1 : 0);
  return rows >= kLeastRows && rows <= kMostRows && shape.dim(0) >= kLeastDim &&
         shape.dim(1) >= kLeastDim && shape.dim(0) >= kLeastElements / shape.dim(1);
}

// An Enter that brings the same value to each iteration.
bool IsConstantEnter(const Node& node) {
  return node.op_name() == "Enter" && IsTrue(node, "is_constant") &&
         node.input(0).node != nullptr && !node.input_is_ref(0);
}

// One form of one matrix on one device.
using Form = std::tuple<int, int, bool, std::string>;

Form FormOf(const Output& b, const Node& product) {
  return {b.node->id(), b.index, IsTrue(product, "transpose_b"), product.device()};
}
Form FormOf(const Node& product) { return FormOf(product.input(1), product); }

class Sharer {
 public:
  explicit Sharer(const StepGraph& step) : step_(step), copier_(step) {}

  Result<StepGraph> Run() {
    const std::vector<Node*> nodes = step_.graph->Nodes();
    std::map<Form, int> readers;
    for (const Node* node : nodes) {
      if (!MayRead(*node)) continue;
      readers[FormOf(*node)] += IsConstantEnter(*node->input(1).node) ? kLeastReaders : 1;
    }
    std::erase_if(readers, [](const auto& form) { return form.second < kLeastReaders; });
    if (readers.empty()) return step_;
    for (const Node* node : nodes) {
      if (MayRead(*node) && readers.contains(FormOf(*node))) {
        RETURN_IF_ERROR(Make(*node));
      } else {
        copier_.Copy(*node);
      }
    }
    return copier_.Finish();
  }

 private:
  // The packed form of b, an operand of `product` or what it enters a loop from; made for the
  // first product that asks. In a loop it is an Enter beside that of b.
  Result<Node*> Packed(const Output& b, const Node& product) {
    const auto found = packed_.find(FormOf(b, product));
    if (found != packed_.end()) return found->second;
    NodeSpec spec;
    if (IsConstantEnter(*b.node)) {
      ASSIGN_OR_RETURN(Node * outside, Packed(b.node->input(0), product));
      spec.op = "Enter";
      spec.inputs = {{outside, 0}};
      for (const char* attr : {"frame_name", "is_constant", "parallel_iterations"}) {
        spec.attrs.Set(attr, *b.node->FindAttr(attr));
      }
      spec.device = b.node->device();
    } else {
      spec.op = "_PackMatrix";
      spec.inputs = {copier_.Map(b)};
      spec.attrs.Set("transpose", IsTrue(product, "transpose_b"));
      spec.device = product.device();
    }
    spec.name = copier_.graph().UniqueName(StrCat(b.node->name(), "/packed"));
    spec.site = copier_.graph().InternSite(b.node->graph().Site(b.node->site()));
    ASSIGN_OR_RETURN(Node * made, copier_.graph().AddNode(std::move(spec)));
    copier_.SetOrigin(*made, step_.Origin(*b.node));
    packed_.emplace(FormOf(b, product), made);
    return made;
  }

  Status Make(const Node& product) {
    ASSIGN_OR_RETURN(Node * packed, Packed(product.input(1), product));
    NodeSpec spec;
    spec.op = "_PackedMatMul";
    spec.name = product.name();
    for (const Output& input : product.inputs()) spec.inputs.push_back(copier_.Map(input));
    spec.inputs.insert(spec.inputs.begin() + 2, Output{packed, 0});
    for (const Node* before : product.control_inputs()) {
      Node* const now = copier_.Map(before);
      if (now != nullptr) spec.control_inputs.push_back(now);
    }
    const bool fused = product.op_name() == "_FusedMatMul";
    for (const char* attr : {"transpose_a", "transpose_b", "fused_ops", "num_args",
                             "leakyrelu_alpha", "_fused_from"}) {
      const AttrValue* value = product.FindAttr(attr);
      if (value != nullptr) spec.attrs.Set(attr, *value);
    }
    if (!fused) {
      spec.attrs.Set("num_args", int64_t{0});
      spec.attrs.Set("_fused_from", product.Label());
    }
    ASSIGN_OR_RETURN(Node * made, copier_.Make(product, std::move(spec)));
    copier_.Replace(product, made);
    return OkStatus();
  }

  const StepGraph& step_;
  GraphCopier copier_;
  std::map<Form, Node*> packed_;
};

}  // namespace

Result<StepGraph> SharePacked(const StepGraph& step) { return Sharer(step).Run(); }

}  // namespace thalweg
