// SPDX-License-Identifier: Apache-2.0
#include "thalweg/passes/join_products.h"

#include <algorithm>

#include "thalweg/passes/graph_copier.h"

namespace thalweg {
namespace {

// The sizes and form of a product with known shapes; equal ones may be joined but for the depth.
struct Form {
  int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;

  bool Fits(const Form& other) const {
    return m == other.m && n == other.n && transpose_a == other.transpose_a &&
           transpose_b == other.transpose_b;
  }
};

bool IsTrue(const Node& node, const char* attr) {
  const AttrValue* value = node.FindAttr(attr);
  return value != nullptr && *value == AttrValue(true);
}

// False where the node is no product of floats whose shapes are known.
bool FormOf(const Node& node, Form* form) {
  if (node.op_name() != "MatMul" || node.output_type(0) != DType::kFloat ||
      node.FindAttr("_class") != nullptr) {
    return false;
  }
  const PartialShape &a = node.input(0).shape(), &b = node.input(1).shape();
  for (const PartialShape* shape : {&a, &b}) {
    if (!shape->known_rank() || shape->rank() != 2 || !shape->IsFullyDefined()) return false;
  }
  form->transpose_a = IsTrue(node, "transpose_a");
  form->transpose_b = IsTrue(node, "transpose_b");
  form->m = a.dim(form->transpose_a ? 1 : 0);
  form->k = a.dim(form->transpose_a ? 0 : 1);
  form->n = b.dim(form->transpose_b ? 0 : 1);
  return b.dim(form->transpose_b ? 1 : 0) == form->k;
}

// The terms of one AddN that become one product.
struct Sum {
  const Node* add = nullptr;
  std::vector<const Node*> products;
  Form form;  // of the first
};

class Joiner {
 public:
  explicit Joiner(const StepGraph& step) : step_(step), copier_(step) {}

  Result<StepGraph> Run() {
    const std::vector<Node*> nodes = step_.graph->Nodes();
    CountUses(nodes);
    std::vector<bool> joined(nodes.size());
    std::vector<int> sum_of(nodes.size(), -1);  // by id, of the AddN
    std::vector<Sum> sums;
    for (const Node* node : nodes) {
      if (node->op_name() != "AddN") continue;
      Sum sum = Look(*node);
      if (!Pays(sum)) continue;
      for (const Node* product : sum.products) joined[product->id()] = true;
      sum_of[node->id()] = static_cast<int>(sums.size());
      sums.push_back(std::move(sum));
    }
    if (sums.empty()) return step_;
    for (const Node* node : nodes) {
      if (joined[node->id()]) continue;
      if (sum_of[node->id()] < 0) {
        copier_.Copy(*node);
      } else {
        RETURN_IF_ERROR(Make(sums[sum_of[node->id()]]));
      }
    }
    return copier_.Finish();
  }

 private:
  // By id: how often a node's values are read; more where others look at it.
  void CountUses(const std::vector<Node*>& nodes) {
    uses_.resize(nodes.size());
    for (const Node* node : nodes) {
      for (const Output& input : node->inputs()) {
        if (input.node != nullptr) ++uses_[input.node->id()];
      }
      for (const Node* before : node->control_inputs()) uses_[before->id()] += 2;
    }
    for (const Output& fetch : step_.fetches) uses_[fetch.node->id()] += 2;
    for (const Node* target : step_.targets) uses_[target->id()] += 2;
  }

  Sum Look(const Node& add) const {
    Sum sum;
    sum.add = &add;
    if (add.FindAttr("_class") != nullptr) return sum;
    for (const Output& term : add.inputs()) {
      Form form;
      if (term.node == nullptr || uses_[term.node->id()] != 1 || !FormOf(*term.node, &form) ||
          term.node->device() != add.device()) {
        continue;
      }
      if (sum.products.empty()) {
        sum.form = form;
        sum.products.push_back(term.node);
      } else if (form.Fits(sum.form)) {
        sum.form.k += form.k;
        sum.products.push_back(term.node);
      }
    }
    return sum;
  }

  // The operands are read and written once more, all products but one not at all.
  static bool Pays(const Sum& sum) {
    const Form& f = sum.form;
    const auto m = static_cast<double>(f.m), n = static_cast<double>(f.n);
    const auto k = static_cast<double>(f.k);
    const auto saved = static_cast<double>(sum.products.size()) - 1;
    return saved >= 1 && 2 * k * (m + n) < saved * m * n;
  }

  static NodeSpec Spec(const Sum& sum, std::string op, std::string name) {
    NodeSpec spec;
    spec.op = std::move(op);
    spec.name = std::move(name);
    spec.device = sum.add->device();
    return spec;
  }

  Result<Node*> Add(const Sum& sum, NodeSpec spec) {
    spec.site = copier_.graph().InternSite(sum.add->graph().Site(sum.add->site()));
    return copier_.graph().AddNode(std::move(spec));
  }

  // Operand `index` of all products, one behind the other along the depth.
  Result<Output> Concat(const Sum& sum, int index) {
    const bool transposed = index == 0 ? sum.form.transpose_a : sum.form.transpose_b;
    const int axis = (index == 0) == transposed ? 0 : 1;
    const std::string base = StrCat(sum.add->name(), index == 0 ? "/a" : "/b");
    NodeSpec at = Spec(sum, "Const", copier_.graph().UniqueName(base + "/axis"));
    at.attrs = {{"dtype", DType::kInt32}, {"value", Tensor::Scalar<int32_t>(axis)}};
    // In the loop where the products are: a constant by itself is outside.
    for (const Node* product : sum.products) {
      const Output now = copier_.Map(product->input(index));
      if (now.node != nullptr && !IsPlaceholder(*now.node) && at.control_inputs.empty()) {
        at.control_inputs.push_back(now.node);
      }
    }
    ASSIGN_OR_RETURN(Node * place, Add(sum, std::move(at)));
    NodeSpec spec = Spec(sum, "ConcatV2", copier_.graph().UniqueName(base));
    for (const Node* product : sum.products) {
      spec.inputs.push_back(copier_.Map(product->input(index)));
    }
    spec.inputs.push_back({place, 0});
    ASSIGN_OR_RETURN(Node * made, Add(sum, std::move(spec)));
    return Output{made, 0};
  }

  // Everything that the sum or one of its products waits for.
  std::vector<Node*> Controls(const Sum& sum) const {
    std::vector<const Node*> parts = sum.products;
    parts.push_back(sum.add);
    std::vector<Node*> controls;
    for (const Node* part : parts) {
      for (const Node* before : part->control_inputs()) {
        Node* const now = copier_.Map(before);
        if (now != nullptr && std::find(controls.begin(), controls.end(), now) == controls.end()) {
          controls.push_back(now);
        }
      }
    }
    return controls;
  }

  Status Make(const Sum& sum) {
    const bool whole = static_cast<int>(sum.products.size()) == sum.add->num_inputs();
    NodeSpec spec =
        Spec(sum, "MatMul",
             whole ? sum.add->name() : copier_.graph().UniqueName(sum.add->name() + "/joined"));
    for (int index : {0, 1}) {
      ASSIGN_OR_RETURN(const Output operand, Concat(sum, index));
      spec.inputs.push_back(operand);
    }
    spec.attrs.Set("transpose_a", sum.form.transpose_a);
    spec.attrs.Set("transpose_b", sum.form.transpose_b);
    spec.control_inputs = Controls(sum);
    ASSIGN_OR_RETURN(Node * made, Add(sum, std::move(spec)));
    if (!whole) {
      NodeSpec rest = Spec(sum, "AddN", sum.add->name());
      for (const Output& term : sum.add->inputs()) {
        const auto& products = sum.products;
        if (std::find(products.begin(), products.end(), term.node) == products.end()) {
          rest.inputs.push_back(copier_.Map(term));
        }
      }
      rest.inputs.push_back({made, 0});
      ASSIGN_OR_RETURN(made, Add(sum, std::move(rest)));
    }
    copier_.Replace(*sum.add, made);
    copier_.SetOrigin(*made, step_.Origin(*sum.add));
    return OkStatus();
  }

  const StepGraph& step_;
  GraphCopier copier_;
  std::vector<int> uses_;
};

}  // namespace

Result<StepGraph> JoinProducts(const StepGraph& step) { return Joiner(step).Run(); }

}  // namespace thalweg
