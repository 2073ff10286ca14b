// SPDX-License-Identifier: Apache-2.0
#include "thalweg/passes/join_loop_products.h"

#include <algorithm>

#include "thalweg/passes/asked_device.h"
#include "thalweg/passes/graph_copier.h"

namespace thalweg {
namespace {

using Control = Node::Control;

// A smaller matrix is added to as fast as anything else is done.
constexpr double kLeastElements = 4096;

// A loop variable that products are added to.
struct LoopSum {
  const Node* enter = nullptr;
  const Node* merge = nullptr;
  const Node* parts = nullptr;  // the Switch
  const Node* product = nullptr;
  const Node* add = nullptr;
  const Node* next = nullptr;
};

// Whether the sum of a product is large; unknown sizes are small.
bool IsLarge(const Node& product) {
  const PartialShape& shape = product.output_shape(0);
  if (!shape.known_rank() || shape.rank() != 2 || !shape.IsFullyDefined()) return false;
  return static_cast<double>(shape.dim(0)) * static_cast<double>(shape.dim(1)) >= kLeastElements;
}

bool IsProduct(const Node& node) {
  const DType dtype = node.num_outputs() == 1 ? node.output_type(0) : DType::kInvalid;
  return node.op_name() == "MatMul" && (dtype == DType::kFloat || dtype == DType::kDouble) &&
         node.FindAttr("_class") == nullptr && IsLarge(node);
}

class LoopProductJoiner {
 public:
  explicit LoopProductJoiner(const StepGraph& step) : step_(step), copier_(step) {}

  Result<StepGraph> Run() {
    const std::vector<Node*> nodes = step_.graph->Nodes();
    CountUses(nodes);
    sum_of_.assign(nodes.size(), -1);
    for (const Node* node : nodes) {
      LoopSum sum;
      if (node->control() != Control::kMerge || !Look(*node, &sum)) continue;
      const auto index = static_cast<int>(sums_.size());
      for (const Node* part : {sum.enter, sum.merge, sum.parts, sum.product, sum.add, sum.next}) {
        sum_of_[part->id()] = index;
      }
      for (const Node* exit : exits_of_[sum.parts->id()]) sum_of_[exit->id()] = index;
      sums_.push_back(sum);
    }
    if (sums_.empty()) return step_;
    made_.resize(sums_.size());
    for (const Node* node : nodes) {
      if (sum_of_[node->id()] < 0) {
        copier_.Copy(*node);
      } else {
        RETURN_IF_ERROR(Make(*node));
      }
    }
    return copier_.Finish();
  }

 private:
  // What was made of a LoopSum.
  struct Made {
    Node* merge = nullptr;
    Node* parts = nullptr;
    Node* add = nullptr;
  };

  // By id: how often a node's values are read; more where others look at it.
  void CountUses(const std::vector<Node*>& nodes) {
    uses_.resize(nodes.size());
    exits_of_.resize(nodes.size());
    for (const Node* node : nodes) {
      for (const Output& input : node->inputs()) {
        if (input.node == nullptr) continue;
        if (node->control() == Control::kExit && input.node->control() == Control::kSwitch &&
            input.index == 0) {
          exits_of_[input.node->id()].push_back(node);
        } else {
          ++uses_[input.node->id()];
        }
      }
      for (const Node* before : node->control_inputs()) uses_[before->id()] += 2;
    }
    for (const Output& fetch : step_.fetches) uses_[fetch.node->id()] += 2;
    for (const Node* target : step_.targets) uses_[target->id()] += 2;
    reader_.resize(nodes.size());
    for (const Node* node : nodes) {
      if (node->control() == Control::kExit) continue;
      for (const Output& input : node->inputs()) {
        if (input.node != nullptr) reader_[input.node->id()] = node;
      }
    }
  }

  // The one reader of a node whose output `index` has one; null otherwise.
  const Node* OnlyReader(const Node& node, int index) const {
    if (uses_[node.id()] != 1) return nullptr;
    const Node* const reader = reader_[node.id()];
    const auto& inputs = reader->inputs();
    const Output value{const_cast<Node*>(&node), index};
    return std::find(inputs.begin(), inputs.end(), value) == inputs.end() ? nullptr : reader;
  }

  bool Look(const Node& merge, LoopSum* sum) const {
    sum->merge = &merge;
    if (merge.num_inputs() != 2) return false;
    for (const Output& input : merge.inputs()) {
      if (input.node == nullptr) return false;
      if (input.node->control() == Control::kEnter) sum->enter = input.node;
      if (input.node->control() == Control::kNextIteration) sum->next = input.node;
    }
    if (sum->enter == nullptr || sum->next == nullptr) return false;
    sum->parts = OnlyReader(merge, 0);
    if (OnlyReader(*sum->enter, 0) != &merge || OnlyReader(*sum->next, 0) != &merge ||
        sum->parts == nullptr || sum->parts->control() != Control::kSwitch ||
        sum->parts->input(0).node != &merge || exits_of_[sum->parts->id()].empty()) {
      return false;
    }
    sum->add = OnlyReader(*sum->parts, 1);
    return sum->add != nullptr && LookAtSum(sum);
  }

  // Whether the body is the addition of a product.
  bool LookAtSum(LoopSum* sum) const {
    const Node& add = *sum->add;
    const std::string& op = add.op_name();
    if ((op != "AddV2" && op != "Add" && op != "AddN") || add.num_inputs() != 2 ||
        add.FindAttr("_class") != nullptr || OnlyReader(add, 0) != sum->next) {
      return false;
    }
    const int other = add.input(0).node == sum->parts ? 1 : 0;
    const Node* const product = add.input(other).node;
    if (product == nullptr || !IsProduct(*product) || OnlyReader(*product, 0) != &add ||
        sum->enter->output_is_ref(0) || sum->parts->output_is_ref(0)) {
      return false;
    }
    // A sum that starts as a number would be broadcast.
    if (!(sum->enter->output_shape(0) == product->output_shape(0))) return false;
    for (const Node* part : {sum->enter, sum->merge, sum->parts, &add, sum->next}) {
      if (part->device() != product->device()) return false;
    }
    sum->product = product;
    return MayBeOnCpu(*product);
  }

  // A node on the device of `old`, which it comes from.
  Result<Node*> Add(const Node& old, NodeSpec spec) {
    for (const Node* before : old.control_inputs()) {
      Node* const now = copier_.Map(before);
      if (now != nullptr) spec.control_inputs.push_back(now);
    }
    return copier_.Make(old, std::move(spec));
  }

  NodeSpec Spec(std::string op, std::string name, std::vector<Output> inputs) {
    NodeSpec spec;
    spec.op = std::move(op);
    spec.name = std::move(name);
    spec.inputs = std::move(inputs);
    return spec;
  }

  std::string Beside(const Node& node, const char* what) {
    return copier_.graph().UniqueName(StrCat(node.name(), what));
  }

  Status Make(const Node& node) {
    const LoopSum& sum = sums_[sum_of_[node.id()]];
    Made& made = made_[sum_of_[node.id()]];
    switch (node.control()) {
      case Control::kEnter:
        return MakeEnter(node);
      case Control::kMerge: {
        Node* const enter = copier_.Map(sum.enter);
        ASSIGN_OR_RETURN(made.merge, Add(node, Spec("Merge", node.name(), {{enter, 0}, Output()})));
        return OkStatus();
      }
      case Control::kSwitch: {
        const Output condition = copier_.Map(node.input(1));
        ASSIGN_OR_RETURN(made.parts,
                         Add(node, Spec("Switch", node.name(), {{made.merge, 0}, condition})));
        return OkStatus();
      }
      case Control::kNextIteration: {
        ASSIGN_OR_RETURN(Node * next,
                         Add(node, Spec("NextIteration", node.name(), {{made.add, 0}})));
        return copier_.graph().SetBackEdge(made.merge, 1, {next, 0});
      }
      case Control::kExit:
        return MakeExit(node, sum, made);
      default:
        return &node == sum.add ? MakeAdd(sum, &made) : OkStatus();
    }
  }

  Status MakeEnter(const Node& enter) {
    ASSIGN_OR_RETURN(Node * start, Add(enter, Spec("_StartProducts", Beside(enter, "/start"),
                                                   {copier_.Map(enter.input(0))})));
    NodeSpec spec = Spec("Enter", enter.name(), {{start, 0}});
    for (const char* attr : {"frame_name", "is_constant", "parallel_iterations"}) {
      const AttrValue* const value = enter.FindAttr(attr);
      if (value != nullptr) spec.attrs.Set(attr, *value);
    }
    ASSIGN_OR_RETURN(Node * made, Add(enter, std::move(spec)));
    copier_.Replace(enter, made);
    return OkStatus();
  }

  Status MakeAdd(const LoopSum& sum, Made* made) {
    const Node& product = *sum.product;
    NodeSpec spec =
        Spec("_AddProduct", sum.add->name(),
             {{made->parts, 1}, copier_.Map(product.input(0)), copier_.Map(product.input(1))});
    for (const char* attr : {"transpose_a", "transpose_b"}) {
      const AttrValue* const value = product.FindAttr(attr);
      if (value != nullptr) spec.attrs.Set(attr, *value);
    }
    spec.attrs.Set("_fused_from", StrCat(product.Label(), ", ", sum.add->Label()));
    for (const Node* before : product.control_inputs()) {
      Node* const now = copier_.Map(before);
      const auto& others = sum.add->control_inputs();
      if (now != nullptr && std::find(others.begin(), others.end(), before) == others.end()) {
        spec.control_inputs.push_back(now);
      }
    }
    ASSIGN_OR_RETURN(made->add, Add(*sum.add, std::move(spec)));
    return OkStatus();
  }

  Status MakeExit(const Node& exit, const LoopSum& sum, const Made& made) {
    ASSIGN_OR_RETURN(Node * last, Add(exit, Spec("Exit", Beside(exit, "/sum"), {{made.parts, 0}})));
    NodeSpec spec = Spec("_EndProducts", exit.name(), {{last, 0}});
    spec.attrs.Set("T", exit.output_type(0));
    spec.attrs.Set("shape", sum.product->output_shape(0));
    ASSIGN_OR_RETURN(Node * end, Add(exit, std::move(spec)));
    copier_.Replace(exit, end);
    return OkStatus();
  }

  const StepGraph& step_;
  GraphCopier copier_;
  std::vector<int> uses_;  // by id, but for readers that are Exits
  std::vector<const Node*> reader_;
  std::vector<std::vector<const Node*>> exits_of_;
  std::vector<int> sum_of_;  // by id; -1: none
  std::vector<LoopSum> sums_;
  std::vector<Made> made_;
};

}  // namespace

Result<StepGraph> JoinLoopProducts(const StepGraph& step) { return LoopProductJoiner(step).Run(); }

}  // namespace thalweg
