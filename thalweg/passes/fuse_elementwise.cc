// SPDX-License-Identifier: Apache-2.0
#include "thalweg/passes/fuse_elementwise.h"

#include <algorithm>
#include <climits>
#include <memory>
#include <optional>
#include <set>

#include "thalweg/passes/fusable_ops.h"
#include "thalweg/passes/graph_copier.h"

namespace thalweg {
namespace {

constexpr const char* kFusedOp = "_FusedElementwise";
constexpr const char* kReductionOp = "_FusedReduction";
// The limits of one tree; a longer chain becomes several. Below the limits of EwProgram.
constexpr int kMostInstructions = 48;
constexpr int kMostInputs = 32;
// The limits of a tree with reductions: its parts have each other's results as inputs.
constexpr int kMostWithReductions = 24;
constexpr int kMostInputsWithReductions = 16;

class Fuser {
 public:
  Fuser(const StepGraph& step, const KernelRegistry& kernels, bool several_outputs)
      : step_(step),
        kernels_(kernels),
        several_outputs_(several_outputs),
        nodes_(step.graph->Nodes()),
        readers_(nodes_.size()),
        pinned_(nodes_.size()),
        of_rows_(nodes_.size()),
        tree_of_(nodes_.size(), kNobody) {}

  // Null when what it chose would wait for itself.
  Result<std::unique_ptr<StepGraph>> Run() {
    const OpRegistry& ops = step_.graph->registry();
    if (!ops.Find(kFusedOp).ok()) return std::make_unique<StepGraph>(step_);
    reduces_ = ops.Find(kReductionOp).ok();
    for (const Output& fetch : step_.fetches) pinned_[Id(fetch.node)] = true;
    for (const Node* target : step_.targets) pinned_[Id(target)] = true;
    for (const Node* node : nodes_) Look(*node);
    for (size_t i = nodes_.size(); i > 0; --i) Assign(*nodes_[i - 1]);
    bool any = false;
    for (const Tree& tree : trees_) any |= IsWorthIt(tree);
    if (!any) return std::make_unique<StepGraph>(step_);
    const std::vector<const Node*> order = Order();
    if (order.empty()) return std::unique_ptr<StepGraph>();
    GraphCopier copier(step_);
    for (const Node* node : order) {
      if (TreeOf(*node) != nullptr) {
        RETURN_IF_ERROR(Fuse(*TreeOf(*node), copier));
      } else if (!IsLeftOver(*node)) {
        copier.Copy(*node);
      }
    }
    ASSIGN_OR_RETURN(StepGraph fused, copier.Finish());
    return std::make_unique<StepGraph>(std::move(fused));
  }

 private:
  static constexpr int kNobody = -1;

  struct Tree {
    std::vector<const Node*> members;  // the root first, then upstream
    int instructions = 0;
    int inputs = 0;  // at most
    bool reduces = false;
    std::vector<const Node*> outputs;  // members besides the root that others read
    int last_input = -1;               // of the nodes that it is known to read
    int first_reader = INT_MAX;        // of those that read `outputs`
  };

  static size_t Id(const Node* node) { return static_cast<size_t>(node->id()); }
  static bool IsWorthIt(const Tree& tree) { return tree.instructions > 1; }
  // The tree that the node ends in; null when it stays itself.
  const Tree* TreeOf(const Node& node) const {
    const int number = tree_of_[Id(&node)];
    if (number == kNobody || !IsWorthIt(trees_[static_cast<size_t>(number)])) return nullptr;
    return &trees_[static_cast<size_t>(number)];
  }

  // The dimensions of reductions that became part of programs.
  bool IsLeftOver(const Node& node) const {
    const auto& readers = readers_[Id(&node)];
    return node.op_name() == "Const" && !pinned_[Id(&node)] && !readers.empty() &&
           std::all_of(readers.begin(), readers.end(), [&](const Node* reader) {
             return TreeOf(*reader) != nullptr && FindReduction(*reader).has_value() &&
                    reader->input(0).node != &node;
           });
  }

  bool MayFuse(const Node& node) const {
    if (node.op().def.is_stateful || node.control() != Node::Control::kNone ||
        node.FindAttr("_class") != nullptr || node.num_outputs() != 1 || node.output_is_ref(0)) {
      return false;
    }
    for (int i = 0; i < node.num_inputs(); ++i) {
      const Output& input = node.input(i);
      // A plain argument that reads a reference reads at its own time.
      if (node.input_is_ref(i) || input.node == nullptr || input.node->output_is_ref(input.index)) {
        return false;
      }
    }
    return kernels_.Find(node, kCpu).ok();
  }

  // Who reads what, and what is made of reduced rows.
  void Look(const Node& node) {
    bool of_rows = false;
    for (const Output& input : node.inputs()) {
      if (input.node == nullptr) continue;
      readers_[Id(input.node)].push_back(&node);
      of_rows |= of_rows_[Id(input.node)];
    }
    for (const Node* before : node.control_inputs()) pinned_[Id(before)] = true;
    if (!reduces_) return;
    const std::optional<FusableReduction> reduction = FindReduction(node);
    of_rows_[Id(&node)] =
        reduction.has_value() ? reduction->in_rows : of_rows && FusableInstructions(node) >= 0;
  }

  // Readers come before what they read, so the tree that a node may join is known.
  void Assign(const Node& node) {
    const std::optional<FusableReduction> reduction = reduces_ ? FindReduction(node) : std::nullopt;
    const int instructions = reduction.has_value() ? 1 : FusableInstructions(node);
    int number = kNobody;
    if (instructions >= 0 && instructions <= kMostInstructions &&
        node.num_inputs() <= kMostInputs && MayFuse(node)) {
      number = TreeFor(node, instructions, reduction);
    }
    tree_of_[Id(&node)] = number;
    for (const Node* reader : readers_[Id(&node)]) {
      const int other = tree_of_[Id(reader)];
      if (other == kNobody || other == number) continue;
      Tree& tree = trees_[static_cast<size_t>(other)];
      tree.last_input = std::max(tree.last_input, node.id());
    }
  }

  int TreeFor(const Node& node, int instructions,
              const std::optional<FusableReduction>& reduction) {
    const int reader = pinned_[Id(&node)] ? kNobody : ReaderOf(node);
    const bool inside = !reduction.has_value() || reduction->in_rows;
    if (reader != kNobody && inside) {
      Tree& tree = trees_[static_cast<size_t>(reader)];
      const bool reduces = tree.reduces || reduction.has_value();
      const int all = tree.instructions + instructions;
      const int inputs = tree.inputs + node.num_inputs() - 1;
      if (tree.members.front()->device() == node.device() && !IsScalarAmongLarger(node, reader) &&
          all <= (reduces ? kMostWithReductions : kMostInstructions) &&
          inputs <= (reduces ? kMostInputsWithReductions : kMostInputs) &&
          JoinsOutputs(node, reader, &tree)) {
        tree.members.push_back(&node);
        tree.instructions = all;
        tree.inputs = inputs;
        tree.reduces = reduces;
        return reader;
      }
    }
    if (instructions == 0) return kNobody;  // nothing but passing on is no tree's root
    trees_.push_back({.members = {&node},
                      .instructions = instructions,
                      .inputs = node.num_inputs(),
                      .reduces = reduction.has_value()});
    return static_cast<int>(trees_.size()) - 1;
  }

  static bool IsScalar(const Output& value) {
    const PartialShape& shape = value.shape();
    return shape.known_rank() && shape.rank() == 0;
  }

  // Whether the node makes a scalar that the tree reads for values of other shapes. Scalars of its
  // inputs cost a program nothing, but what it computes in several shapes it plans in every step.
  bool IsScalarAmongLarger(const Node& node, int number) const {
    if (!IsScalar({const_cast<Node*>(&node), 0})) return false;
    const auto& readers = readers_[Id(&node)];
    return std::any_of(readers.begin(), readers.end(), [&](const Node* reader) {
      return tree_of_[Id(reader)] == number && !IsScalar({const_cast<Node*>(reader), 0});
    });
  }

  // The tree that reads the node first.
  int ReaderOf(const Node& node) const {
    const Node* first = nullptr;
    for (const Node* reader : readers_[Id(&node)]) {
      if (reader->id() <= node.id()) return kNobody;  // around a loop
      if (tree_of_[Id(reader)] != kNobody && (first == nullptr || reader->id() < first->id())) {
        first = reader;
      }
    }
    return first == nullptr ? kNobody : tree_of_[Id(first)];
  }

  // Whether the node may be inside although others read it too; then it becomes an output.
  bool JoinsOutputs(const Node& node, int number, Tree* tree) {
    int first = INT_MAX;
    bool reduced = of_rows_[Id(&node)];
    for (const Node* reader : readers_[Id(&node)]) {
      if (tree_of_[Id(reader)] != number) {
        first = std::min(first, reader->id());
      } else {
        reduced |= FindReduction(*reader).has_value();
      }
    }
    if (first == INT_MAX) return true;
    first = std::min(first, tree->first_reader);
    if (!several_outputs_ || !reduces_ || !reduced || tree->last_input >= first) return false;
    if (FusableInstructions(node) == 0) return false;  // it makes no value of its own
    tree->first_reader = first;
    tree->outputs.push_back(&node);
    return true;
  }

  // Nodes and roots of trees, each after what it reads; empty where that cannot be. Where no tree
  // has several outputs it is the order of before.
  std::vector<const Node*> Order() const {
    std::vector<int> waits(nodes_.size());  // by id of a node or root
    std::vector<std::vector<const Node*>> next(nodes_.size());
    const auto unit = [&](const Node* node) {
      const Tree* tree = TreeOf(*node);
      return tree == nullptr ? node : tree->members.front();
    };
    size_t units = 0;
    const auto edge = [&](const Node* from, const Node* to) {
      if (from == nullptr || from->id() >= to->id() || unit(from) == unit(to)) return;
      next[Id(unit(from))].push_back(unit(to));
      ++waits[Id(unit(to))];
    };
    for (const Node* node : nodes_) {
      units += unit(node) == node;
      for (const Output& input : node->inputs()) edge(input.node, node);
      for (const Node* before : node->control_inputs()) edge(before, node);
    }
    std::set<std::pair<int, const Node*>> ready;
    for (const Node* node : nodes_) {
      if (unit(node) == node && waits[Id(node)] == 0) ready.insert({node->id(), node});
    }
    std::vector<const Node*> order;
    while (!ready.empty()) {
      const Node* node = ready.begin()->second;
      ready.erase(ready.begin());
      order.push_back(node);
      for (const Node* after : next[Id(node)]) {
        if (--waits[Id(after)] == 0) ready.insert({after->id(), after});
      }
    }
    if (order.size() != units) order.clear();
    return order;
  }

  static std::string Whose(const Node& node) {
    return node.site() == 0
               ? node.Label()
               : StrCat(node.Label(), " (created at ", node.graph().Site(node.site()), ")");
  }

  Status Fuse(const Tree& tree, GraphCopier& copier) {
    const Node& root = *tree.members.front();
    NodeSpec spec;
    spec.name = root.name();
    spec.op = tree.reduces ? kReductionOp : kFusedOp;
    spec.device = root.device();
    if (root.site() != 0) {
      spec.site = copier.graph().InternSite(root.graph().Site(root.site()));
    }
    std::unordered_map<Output, int, OutputHash> value_of;
    const auto inside = [&](const Output& edge) {
      return tree_of_[Id(edge.node)] == tree_of_[Id(&root)];
    };
    std::vector<DType> types;
    for (auto member = tree.members.rbegin(); member != tree.members.rend(); ++member) {
      for (const Output& input : Operands(**member)) {
        if (inside(input) || !value_of.emplace(input, static_cast<int>(types.size())).second) {
          continue;
        }
        spec.inputs.push_back(copier.Map(input));
        types.push_back(input.dtype());
      }
      for (const Node* before : (*member)->control_inputs()) {
        Node* const now = copier.Map(before);
        if (now != nullptr && std::find(spec.control_inputs.begin(), spec.control_inputs.end(),
                                        now) == spec.control_inputs.end()) {
          spec.control_inputs.push_back(now);
        }
      }
    }
    std::vector<std::string> program, names;
    // Members were added from the root up in the order of their ids.
    for (auto member = tree.members.rbegin(); member != tree.members.rend(); ++member) {
      std::vector<int> operands;
      for (const Output& input : Operands(**member)) operands.push_back(value_of.at(input));
      const int next = static_cast<int>(types.size() + program.size());
      value_of[{const_cast<Node*>(*member), 0}] = Emit(**member, operands, next, &program);
      names.resize(program.size(), Whose(**member));
    }
    std::vector<const Node*> outputs = {&root};
    std::vector<DType> made;
    std::vector<int64_t> results;
    std::vector<PartialShape> shapes;
    outputs.insert(outputs.end(), tree.outputs.begin(), tree.outputs.end());
    for (const Node* node : outputs) {
      made.push_back(node->output_type(0));
      results.push_back(value_of.at({const_cast<Node*>(node), 0}));
      shapes.push_back(node->output_shape(0));
    }
    spec.attrs = {{"Tin", types},       {"Tout", made},   {"program", program},
                  {"results", results}, {"nodes", names}, {"shapes", shapes}};
    ASSIGN_OR_RETURN(Node * fused, copier.graph().AddNode(std::move(spec)));
    copier.Replace(root, fused);
    for (size_t i = 1; i < outputs.size(); ++i) {
      copier.Redirect({const_cast<Node*>(outputs[i]), 0}, {fused, static_cast<int>(i)});
    }
    copier.SetOrigin(*fused, step_.Origin(root));
    return OkStatus();
  }

  // What the program reads: not the dimensions of a reduction, which are part of it.
  static std::span<const Output> Operands(const Node& node) {
    const std::span<const Output> inputs(node.inputs());
    return FindReduction(node).has_value() ? inputs.first(1) : inputs;
  }

  static int Emit(const Node& node, const std::vector<int>& operands, int next,
                  std::vector<std::string>* program) {
    if (std::optional<FusableReduction> reduction = FindReduction(node)) {
      reduction->instruction.operand = static_cast<uint16_t>(operands[0]);
      program->push_back(reduction->instruction.ToText());
      return next;
    }
    std::vector<compute::EwInstruction> instructions;
    const int value = EmitInstructions(node, operands, next, &instructions);
    for (const auto& instruction : instructions) program->push_back(instruction.ToText());
    return value;
  }

  const StepGraph& step_;
  const KernelRegistry& kernels_;
  const bool several_outputs_;
  bool reduces_ = false;
  const std::vector<Node*> nodes_;
  std::vector<std::vector<const Node*>> readers_;  // by id
  std::vector<bool> pinned_;                       // by id: seen from outside as itself
  std::vector<bool> of_rows_;  // by id: a reduction of rows, or made of one element by element
  std::vector<int> tree_of_;   // by id
  std::vector<Tree> trees_;
};

}  // namespace

Result<StepGraph> FuseElementwise(const StepGraph& step, const KernelRegistry& kernels) {
  for (const bool several_outputs : {true, false}) {
    ASSIGN_OR_RETURN(const auto fused, Fuser(step, kernels, several_outputs).Run());
    if (fused != nullptr) return std::move(*fused);
  }
  return Internal("fused nodes wait for each other");
}

}  // namespace thalweg
