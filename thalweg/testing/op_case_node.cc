// SPDX-License-Identifier: Apache-2.0
#include "thalweg/testing/op_case_node.h"

#include "thalweg/graph/graph_builder.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/resources/variable.h"

namespace thalweg {
namespace {

Result<DType> TypeOf(const OpDef& op, const AttrMap& attrs, const std::string& name) {
  const AttrValue* value = attrs.Find(name);
  if (value == nullptr) {
    const AttrDef* def = op.FindAttr(name);
    if (def == nullptr || !def->default_value) {
      return InvalidArgument("the case does not say the type '", name, "' of ", op.name);
    }
    value = &*def->default_value;
  }
  return value->Get<DType>();
}

// The argument's dtypes, one per edge.
Result<std::vector<DType>> ArgTypes(const OpDef& op, const ArgDef& arg, const AttrMap& attrs,
                                    size_t given) {
  if (!arg.type_list_attr.empty()) {
    const AttrValue* list = attrs.Find(arg.type_list_attr);
    if (list == nullptr) return InvalidArgument("the case does not say ", arg.type_list_attr);
    return list->Get<std::vector<DType>>();
  }
  DType dtype = arg.type;
  if (!arg.type_attr.empty()) {
    ASSIGN_OR_RETURN(dtype, TypeOf(op, attrs, arg.type_attr));
  }
  size_t count = 1;
  if (!arg.number_attr.empty()) {
    const AttrValue* n = attrs.Find(arg.number_attr);
    count = given - (op.inputs.size() - 1);
    if (n != nullptr) {
      ASSIGN_OR_RETURN(const int64_t number, n->Get<int64_t>());
      count = static_cast<size_t>(number);
    }
  }
  return std::vector<DType>(count, dtype);
}

// The type of the variable behind a resource input.
DType VariableType(const OpDef& op, const AttrMap& attrs) {
  for (const char* name : {"T", "dtype"}) {
    Result<DType> dtype = TypeOf(op, attrs, name);
    if (dtype.ok()) return *dtype;
  }
  return DType::kFloat;
}

PartialShape Known(const Shape& shape, Knowledge knowledge) {
  switch (knowledge) {
    case Knowledge::kUnknownRank:
      return PartialShape::Unknown();
    case Knowledge::kUnknownDims:
      return PartialShape::OfRank(shape.rank());
    default:
      return shape;
  }
}

Status ConstShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Tensor value, c.Attr<Tensor>("value"));
  c.set_output(0, value.shape());
  return OkStatus();
}

Status ShapeOfAttr(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape shape, c.Attr<PartialShape>("shape"));
  c.set_output(0, shape);
  return OkStatus();
}

Output MakeSource(GraphBuilder& b, const CaseInput& input, Knowledge knowledge) {
  const PartialShape shape = Known(input.value.shape(), knowledge);
  if (input.is_ref) return b.Op("VariableV2", {}, {{"dtype", input.dtype}, {"shape", shape}});
  if (input.is_resource) {
    return b.Op("VarHandleOp", {}, {{"dtype", input.dtype}, {"shape", shape}});
  }
  if (knowledge == Knowledge::kValues) return b.Const(input.value);
  return b.Op("Placeholder", {}, {{"dtype", input.dtype}, {"shape", shape}});
}

}  // namespace

Result<std::vector<CaseInput>> MakeCaseInputs(const OpDef& op, const std::vector<In>& inputs,
                                              const AttrMap& attrs, Allocator& allocator) {
  std::vector<CaseInput> made;
  for (const ArgDef& arg : op.inputs) {
    ASSIGN_OR_RETURN(std::vector<DType> types, ArgTypes(op, arg, attrs, inputs.size()));
    for (DType dtype : types) {
      if (made.size() == inputs.size()) {
        return InvalidArgument(op.name, " has more inputs than the case gives");
      }
      const In& in = inputs[made.size()];
      CaseInput input{.dtype = in.dtype.value_or(dtype),
                      .is_ref = arg.is_ref,
                      .is_resource = dtype == DType::kResource,
                      .value = Tensor()};
      if (input.is_resource) input.dtype = in.dtype.value_or(VariableType(op, attrs));
      const auto seed = static_cast<uint32_t>(made.size() + 1);
      ASSIGN_OR_RETURN(input.value, MakeInput(in, input.dtype, seed, allocator));
      made.push_back(std::move(input));
    }
  }
  if (made.size() != inputs.size()) {
    return InvalidArgument(op.name, " has ", made.size(), " inputs, the case gives ",
                           inputs.size());
  }
  return made;
}

void RegisterSources(OpRegistry& registry) {
  for (const char* op : {"Const", "Placeholder", "VariableV2"}) {
    registry.Op(op).Shape(op == std::string_view("Const") ? ConstShape : ShapeOfAttr);
  }
}

Result<std::unique_ptr<CaseNode>> CaseNode::Make(const std::shared_ptr<const OpRegistry>& ops,
                                                 const std::string& op, const AttrMap& attrs,
                                                 const std::vector<CaseInput>& inputs,
                                                 Knowledge knowledge) {
  auto made = std::make_unique<CaseNode>();
  made->graph_ = std::make_unique<Graph>(ops);
  GraphBuilder b(made->graph_.get());
  for (const CaseInput& input : inputs) made->sources_.push_back(MakeSource(b, input, knowledge));
  RETURN_IF_ERROR(b.status());
  NodeSpec spec;
  spec.name = "under_test";
  spec.op = op;
  spec.inputs = made->sources_;
  spec.attrs = attrs;
  ASSIGN_OR_RETURN(made->node_, made->graph_->AddNode(std::move(spec)));
  return made;
}

Result<CaseNode::Outcome> CaseNode::Run(const KernelRegistry& kernels, TestMachine& machine,
                                        const std::vector<CaseInput>& inputs, bool take) const {
  Feeds feeds;
  std::vector<RefPtr<Variable>> variables;
  std::vector<Tensor> copies;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const CaseInput& input = inputs[i];
    ASSIGN_OR_RETURN(Tensor value, input.value.Clone(machine.device.allocator()));
    if (input.is_ref || input.is_resource) {
      variables.push_back(RefPtr<Variable>::Adopt(
          std::make_unique<Variable>("v", input.dtype, value.shape()).release()));
      RETURN_IF_ERROR(variables.back()->Assign(std::move(value)));
      auto resource = RefPtr<Resource>::Share(variables.back().get());
      feeds.emplace_back(sources_[i],
                         input.is_ref ? Tensor::Reference(std::move(resource), input.dtype)
                                      : Tensor::Scalar(ResourceHandle({}, std::move(resource))));
      continue;
    }
    if (!take) copies.push_back(value);
    feeds.emplace_back(sources_[i], std::move(value));
  }
  std::vector<Output> fetches;
  for (int i = 0; i < node_->num_outputs(); ++i) fetches.push_back({node_, i});
  GraphRunner runner(kernels, machine);
  runner.set_take_inputs(take);
  ASSIGN_OR_RETURN(std::vector<Tensor> outputs, runner.Run(std::move(feeds), fetches, {node_}));
  Outcome outcome;
  for (Tensor& output : outputs) {
    if (!output.is_reference()) outcome.outputs.push_back(std::move(output));
  }
  for (const RefPtr<Variable>& variable : variables) {
    ASSIGN_OR_RETURN(Tensor after, variable->Read());
    outcome.outputs.push_back(std::move(after));
  }
  size_t next = 0;
  for (const CaseInput& input : inputs) {
    if (take || input.is_ref || input.is_resource) continue;
    if (!BitDifference(copies[next++], input.value).empty()) outcome.inputs_unchanged = false;
  }
  return outcome;
}

}  // namespace thalweg
