// SPDX-License-Identifier: Apache-2.0
#include "thalweg/passes/fuse_elementwise.h"

#include <algorithm>

#include "thalweg/passes/fusable_ops.h"
#include "thalweg/passes/graph_copier.h"

namespace thalweg {
namespace {

constexpr const char* kFusedOp = "_FusedElementwise";
// Of one tree; a longer chain becomes several. Below the limits of EwProgram.
constexpr int kMostInstructions = 48;
constexpr int kMostInputs = 32;

class Fuser {
 public:
  Fuser(const StepGraph& step, const KernelRegistry& kernels)
      : step_(step),
        kernels_(kernels),
        nodes_(step.graph->Nodes()),
        reader_(nodes_.size(), kNobody),
        tree_of_(nodes_.size(), kNobody) {}

  Result<StepGraph> Run() {
    if (!step_.graph->registry().Find(kFusedOp).ok()) return step_;
    for (const Output& fetch : step_.fetches) reader_[Id(fetch.node)] = kSeveral;
    for (const Node* target : step_.targets) reader_[Id(target)] = kSeveral;
    for (size_t i = nodes_.size(); i > 0; --i) Assign(*nodes_[i - 1]);
    bool any = false;
    for (const Tree& tree : trees_) any |= IsWorthIt(tree);
    if (!any) return step_;
    GraphCopier copier(step_);
    for (const Node* node : nodes_) {
      const int number = tree_of_[Id(node)];
      if (number == kNobody || !IsWorthIt(trees_[static_cast<size_t>(number)])) {
        copier.Copy(*node);
      } else if (trees_[static_cast<size_t>(number)].members.front() == node) {
        RETURN_IF_ERROR(Fuse(trees_[static_cast<size_t>(number)], copier));
      }
    }
    return copier.Finish();
  }

 private:
  // Readers of a node's output, other than the number of the one tree that reads it.
  static constexpr int kNobody = -1;
  static constexpr int kSeveral = -2;

  struct Tree {
    std::vector<const Node*> members;  // the root first, then upstream
    int instructions = 0;
    int inputs = 0;  // at most
  };

  static size_t Id(const Node* node) { return static_cast<size_t>(node->id()); }
  static bool IsWorthIt(const Tree& tree) { return tree.instructions > 1; }

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

  // Readers come before what they read, so the tree that a node may join is known.
  void Assign(const Node& node) {
    const int instructions = FusableInstructions(node);
    int number = kNobody;
    if (instructions >= 0 && instructions <= kMostInstructions &&
        node.num_inputs() <= kMostInputs && MayFuse(node)) {
      number = TreeFor(node, instructions);
    }
    tree_of_[Id(&node)] = number;
    for (const Output& input : node.inputs()) {
      if (input.node != nullptr) ReadBy(number, Id(input.node));
    }
    for (const Node* before : node.control_inputs()) ReadBy(kNobody, Id(before));
  }

  int TreeFor(const Node& node, int instructions) {
    const int reader = reader_[Id(&node)];
    if (reader >= 0) {
      Tree& tree = trees_[static_cast<size_t>(reader)];
      if (tree.members.front()->device() == node.device() &&
          tree.instructions + instructions <= kMostInstructions &&
          tree.inputs + node.num_inputs() - 1 <= kMostInputs) {
        tree.members.push_back(&node);
        tree.instructions += instructions;
        tree.inputs += node.num_inputs() - 1;
        return reader;
      }
    }
    if (instructions == 0) return kNobody;  // nothing but passing on is no tree's root
    trees_.push_back({{&node}, instructions, node.num_inputs()});
    return static_cast<int>(trees_.size()) - 1;
  }

  void ReadBy(int tree, size_t producer) {
    int& reader = reader_[producer];
    if (tree == kNobody || (reader != kNobody && reader != tree)) {
      reader = kSeveral;
    } else {
      reader = tree;
    }
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
    spec.op = kFusedOp;
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
      for (const Output& input : (*member)->inputs()) {
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
    std::vector<compute::EwInstruction> instructions;
    std::vector<std::string> program, names;
    // Members were added from the root up in the order of their ids.
    for (auto member = tree.members.rbegin(); member != tree.members.rend(); ++member) {
      std::vector<int> operands;
      for (const Output& input : (*member)->inputs()) operands.push_back(value_of.at(input));
      const int next = static_cast<int>(types.size() + instructions.size());
      value_of[{const_cast<Node*>(*member), 0}] =
          EmitInstructions(**member, operands, next, &instructions);
      names.resize(instructions.size(), Whose(**member));
    }
    for (const auto& instruction : instructions) program.push_back(instruction.ToText());
    spec.attrs = {{"Tin", types},
                  {"Tout", std::vector<DType>{root.output_type(0)}},
                  {"program", program},
                  {"results", std::vector<int64_t>{value_of.at({const_cast<Node*>(&root), 0})}},
                  {"nodes", names},
                  {"shapes", std::vector<PartialShape>{root.output_shape(0)}}};
    ASSIGN_OR_RETURN(Node * made, copier.graph().AddNode(std::move(spec)));
    copier.Replace(root, made);
    copier.SetOrigin(*made, step_.Origin(root));
    return OkStatus();
  }

  const StepGraph& step_;
  const KernelRegistry& kernels_;
  const std::vector<Node*> nodes_;
  std::vector<int> reader_;   // by id: a tree, kNobody or kSeveral
  std::vector<int> tree_of_;  // by id
  std::vector<Tree> trees_;
};

}  // namespace

Result<StepGraph> FuseElementwise(const StepGraph& step, const KernelRegistry& kernels) {
  return Fuser(step, kernels).Run();
}

}  // namespace thalweg
