// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/data/dataset_kernel.h"

#include "thalweg/graph/function_fingerprint.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

// The argument that holds what function `name` has captured.
std::string CapturedBy(const Node& node, const std::string& name) {
  for (const std::string& arg :
       {std::string("other_arguments"), name + "_other_arguments", name + "_other_args"}) {
    if (node.InputRange(arg).ok()) return arg;
  }
  return "";
}

// What changes how elements are made, and none of them.
constexpr std::string_view kTuning[] = {"sloppy",
                                        "deterministic",
                                        "metadata",
                                        "slack_period",
                                        "legacy_autotune",
                                        "buffer_size_min",
                                        "use_unbounded_threadpool",
                                        "use_inter_op_parallelism"};

bool IsTuning(const Node& node, std::string_view argument) {
  return argument == "num_parallel_calls" ||
         (argument == "buffer_size" && node.op_name() == "PrefetchDataset");
}

}  // namespace

Result<ElementSpec> SpecOf(const Node& node) {
  const char* const types =
      node.FindAttr("output_types") != nullptr ? "output_types" : "Toutput_types";
  if (node.FindAttr(types) == nullptr || node.FindAttr("output_shapes") == nullptr) {
    return ElementSpec{{DType::kString}, {PartialShape(Shape())}};
  }
  ElementSpec spec;
  ASSIGN_OR_RETURN(spec.types, node.Attr<std::vector<DType>>(types));
  ASSIGN_OR_RETURN(spec.shapes, node.Attr<std::vector<PartialShape>>("output_shapes"));
  if (spec.types.size() != spec.shapes.size()) {
    return InvalidArgument(types, " has ", spec.types.size(), " entries, output_shapes has ",
                           spec.shapes.size());
  }
  return spec;
}

Result<DatasetAttrs> DatasetAttrs::Of(const Node& node) {
  DatasetAttrs attrs;
  attrs.all = node.attrs();
  attrs.label = node.Label();
  if (node.site() != 0) attrs.site = node.graph().Site(node.site());
  attrs.place = std::make_shared<const std::string>(StrCat(
      attrs.label, "]]", attrs.site.empty() ? "" : StrCat(" (created at ", attrs.site, ")")));
  attrs.op = node.op_name();
  AttrMap told = node.attrs();
  for (const std::string_view name : kTuning) told.Erase(name);
  attrs.fingerprint = AttrsFingerprint(node.graph().library(), told);
  ASSIGN_OR_RETURN(attrs.spec, SpecOf(node));
  for (const auto& [name, value] : node.attrs()) {
    const FunctionRef* const function = value.GetIf<FunctionRef>();
    if (function == nullptr) continue;
    FunctionAttr& attr = attrs.functions[name];
    attr.function = *function;
    const std::string captured = CapturedBy(node, name);
    if (captured.empty()) continue;
    ASSIGN_OR_RETURN(const auto range, node.InputRange(captured));
    attr.begin = range.first;
    attr.end = range.second;
  }
  for (const ArgDef& arg : node.op().def.inputs) {
    if (IsTuning(node, arg.name) || arg.name.find("other_arg") != std::string::npos) continue;
    ASSIGN_OR_RETURN(const auto range, node.InputRange(arg.name));
    for (int i = range.first; i < range.second; ++i) attrs.inputs.push_back(i);
  }
  return attrs;
}

DatasetOrigin DatasetAttrs::OriginOf(const Context& ctx) const {
  DatasetOrigin origin{.op = op, .attrs = fingerprint, .place = place};
  for (const int i : inputs) {
    if (const Result<DatasetPtr> dataset = DatasetOf(ctx.input(i)); dataset.ok()) {
      origin.inputs.push_back(*dataset);
    } else {
      origin.arguments.push_back(ctx.input(i));
    }
  }
  return origin;
}

bool DatasetAttrs::Flag(std::string_view name, bool otherwise) const {
  const AttrValue* const value = all.Find(name);
  if (value == nullptr || value->kind() != AttrValue::Kind::kBool) return otherwise;
  return *value->Get<bool>();
}

Result<int64_t> IntArgument(const Context& ctx, int input, std::string_view name) {
  const Tensor& value = ctx.input(input);
  if (value.rank() != 0) return InvalidArgument(name, " must be a scalar, got ", value.shape());
  return IntAt(value, 0);
}

Result<bool> BoolArgument(const Context& ctx, int input, std::string_view name) {
  const Tensor& value = ctx.input(input);
  if (value.rank() != 0) return InvalidArgument(name, " must be a scalar, got ", value.shape());
  return value.scalar<bool>();
}

Result<std::string> TextArgument(const Context& ctx, int input, std::string_view name) {
  const Tensor& value = ctx.input(input);
  if (value.rank() != 0) return InvalidArgument(name, " must be a scalar, got ", value.shape());
  return value.scalar<std::string>();
}

Result<std::vector<std::string>> TextsArgument(const Context& ctx, int input,
                                               std::string_view name) {
  const Tensor& value = ctx.input(input);
  if (value.rank() > 1) {
    return InvalidArgument("`", name, "` must be a scalar or a vector, got ", value.shape());
  }
  const auto texts = value.flat<std::string>();
  return std::vector<std::string>(texts.begin(), texts.end());
}

Result<Compression> CompressionArgument(const Context& ctx, int input) {
  ASSIGN_OR_RETURN(const std::string name, TextArgument(ctx, input, "compression_type"));
  Result<Compression> kind = CompressionNamed(name);
  if (!kind.ok()) return InvalidArgument("Unsupported compression_type: ", name, ".");
  return kind;
}

Result<ElementFunctionPtr> FunctionArgument(Context& ctx, const DatasetAttrs& attrs,
                                            std::string_view name, std::vector<DType> types) {
  const auto found = attrs.functions.find(name);
  if (found == attrs.functions.end()) return InvalidArgument("the node names no function ", name);
  const FunctionAttr& attr = found->second;
  const Result<RefPtr<FunctionRunner>> runner =
      ctx.step().step_resources->Lookup<FunctionRunner>("", kFunctionRunner);
  if (!runner.ok()) {
    return FailedPrecondition("a dataset's function runs only in a session");
  }
  auto function = std::make_shared<ElementFunction>();
  function->stage = attrs.label;
  function->site = attrs.site;
  for (int i = attr.begin; i < attr.end; ++i) {
    types.push_back(ctx.input(i).dtype());
    function->captured.push_back(ctx.input(i));
  }
  ASSIGN_OR_RETURN(function->function, (*runner)->Bind(attr.function, std::move(types),
                                                       ctx.device(), ctx.step().cancellation));
  return ElementFunctionPtr(std::move(function));
}

}  // namespace thalweg
