// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/function_body.h"

#include <algorithm>
#include <unordered_set>

#include "thalweg/graph/attr_value_proto.h"
#include "thalweg/graph/body_names.h"
#include "thalweg/graph/graph_proto.h"
#include "thalweg/graph/nearest_names.h"
#include "thalweg/graph/site_proto.h"
#include "thalweg/proto/wire.h"

namespace thalweg {
namespace {

namespace nd = pb::NodeDef;
namespace av = pb::AttrValue;

constexpr size_t kMaxNested = 64;
// Shapes are inferred again for each call only this deep: all calls of a call's calls would be
// many.
constexpr size_t kMaxNestedShapes = 3;

// The functions that this thread is making: shape functions of calls ask for other bodies.
thread_local std::vector<const std::string*> in_progress;

class InProgress {
 public:
  explicit InProgress(const std::string& key) { in_progress.push_back(&key); }
  ~InProgress() { in_progress.pop_back(); }
  InProgress(const InProgress&) = delete;
  InProgress& operator=(const InProgress&) = delete;
};

class BodyMaker {
 public:
  BodyMaker(const FunctionLibrary& library, std::shared_ptr<const OpRegistry> registry,
            const FunctionRef& function, const std::vector<ArgShape>* shapes)
      : library_(library),
        function_(function),
        shapes_(shapes),
        body_(std::make_shared<FunctionBody>()),
        graph_def_(pb::GraphDef::Descriptor()),
        names_(*registry, library) {
    body_->name = function.name;
    body_->graph = std::make_unique<Graph>(std::move(registry));
    body_->graph->library().SetParent(&library);
  }

  Result<std::shared_ptr<FunctionBody>> Make() {
    Status status = Build();
    if (!status.ok()) return status.WithContext(StrCat("function '", function_.name, "'"));
    return body_;
  }

 private:
  Status Build() {
    const std::string_view bytes = library_.FindDefinition(function_.name);
    ASSIGN_OR_RETURN(definition_,
                     ParseMessage(pb::FunctionDef::Descriptor(), bytes, {.borrow = true}));
    RETURN_IF_ERROR(CompleteAttrs());
    for (const Message* node : definition_->Messages(pb::FunctionDef::kNodeDef)) {
      RETURN_IF_ERROR(CopyNodeDef(*node));
    }
    RETURN_IF_ERROR(AddArgs());
    for (Message* node : graph_def_->MutableMessages(pb::GraphDef::kNode)) {
      RETURN_IF_ERROR(ResolveInputs(node));
    }
    // A definition does not say who produced it.
    graph_def_->Mutable(pb::GraphDef::kVersions)
        ->SetInt(pb::VersionDef::kProducer, body_->graph->versions().producer);
    WriteSites();
    ImportOptions options;
    options.validate_versions = false;
    RETURN_IF_ERROR(FindReturns(&options));
    ASSIGN_OR_RETURN(const ImportedGraph made, ImportGraphDef(*graph_def_, *body_->graph, options));
    return Finish(made);
  }

  void WriteSites() {
    const std::shared_ptr<const NodeSites> sites = library_.FindSites(function_.name);
    if (sites == nullptr) return;
    SiteWriter writer(graph_def_->Mutable(pb::GraphDef::kDebugInfo));
    for (const auto& [node, site] : *sites) writer.Add(node, site);
  }

  Status CompleteAttrs() {
    def_ = &library_.FindOp(function_.name)->def;
    for (const AttrDef& attr : def_->attrs) {
      const AttrValue* given = function_.attrs.Find(attr.name);
      if (given != nullptr) {
        Status status = CheckAttrValue(attr, *given);
        if (!status.ok()) return status.WithContext(StrCat("attribute '", attr.name, "'"));
        attrs_.Set(attr.name, *given);
      } else if (attr.default_value.has_value()) {
        attrs_.Set(attr.name, *attr.default_value);
      } else {
        return InvalidArgument("the call gives no value for attribute '", attr.name, "' (",
                               AttrKindPhrase(attr.kind), ")");
      }
    }
    return OkStatus();
  }

  Status CopyNodeDef(const Message& from) {
    Message* node = graph_def_->Add(pb::GraphDef::kNode);
    node->MergeFrom(from);
    if (!names_.nodes.emplace(node->GetString(nd::kName), node).second) {
      return InvalidArgument("two nodes are named '", node->GetString(nd::kName), "'");
    }
    for (Message* entry : node->MutableMessages(nd::kAttr)) {
      Status status = Substitute(entry->Mutable(pb::kMapValue));
      if (!status.ok()) {
        return status.WithContext(StrCat("node '", node->GetString(nd::kName), "', attribute '",
                                         entry->GetString(pb::kMapKey), "'"));
      }
    }
    return OkStatus();
  }

  // Puts the call's attributes in the place of their names.
  Status Substitute(Message* value) {
    const FieldDescriptor* kind = value->WhichOneof(av::kI);
    if (kind == nullptr) return OkStatus();
    if (kind->number == av::kPlaceholder) {
      const std::string name(value->GetString(av::kPlaceholder));
      const AttrValue* given = attrs_.Find(name);
      if (given == nullptr) return InvalidArgument("the function has no attribute '", name, "'");
      value->Clear();
      return AttrValueToProto(*given, value);
    }
    if (kind->number == av::kFunc) return SubstituteIn(value->Mutable(av::kFunc));
    if (kind->number == av::kList) {
      for (Message* function : value->Mutable(av::kList)->MutableMessages(av::ListValue::kFunc)) {
        RETURN_IF_ERROR(SubstituteIn(function));
      }
    }
    return OkStatus();
  }
  Status SubstituteIn(Message* function) {
    for (Message* entry : function->MutableMessages(pb::NameAttrList::kAttr)) {
      RETURN_IF_ERROR(Substitute(entry->Mutable(pb::kMapValue)));
    }
    return OkStatus();
  }

  Status AddArgs() {
    int index = 0;
    for (size_t i = 0; i < def_->inputs.size(); ++i) {
      const ArgDef& arg = def_->inputs[i];
      ASSIGN_OR_RETURN(const std::vector<DType> types, TypesOf(arg));
      std::vector<std::string>& names = names_.args[arg.name];
      for (size_t k = 0; k < types.size(); ++k, ++index) {
        std::string name = arg.is_list() ? StrCat(arg.name, "_", k) : arg.name;
        while (!arg_names_.insert(name).second || names_.nodes.contains(name)) {
          if (!arg.is_list()) return InvalidArgument("two nodes are named '", name, "'");
          name.append("_");
        }
        names.push_back(name);
        RETURN_IF_ERROR(AddArg(name, types[k], index, i));
        arg_order_.push_back(std::move(name));
      }
    }
    if (shapes_ != nullptr && static_cast<int>(shapes_->size()) != index) {
      return InvalidArgument("expected ", index, " inputs, got ", shapes_->size());
    }
    return OkStatus();
  }

  Status AddArg(const std::string& name, DType type, int index, size_t number) {
    Message* node = graph_def_->Add(pb::GraphDef::kNode);
    node->SetString(nd::kName, name);
    node->SetString(nd::kOp, "_Arg");
    const Message* attrs =
        definition_->MapFind(pb::FunctionDef::kArgAttr, static_cast<int64_t>(number));
    if (attrs != nullptr) {
      for (const Message* entry : attrs->Messages(pb::FunctionDef::ArgAttrs::kAttr)) {
        const std::string_view key = entry->GetString(pb::kMapKey);
        if (!key.starts_with('_')) continue;
        node->MapMutable(nd::kAttr, key)->MergeFrom(entry->GetMessage(pb::kMapValue));
      }
    }
    AttrMap own = {{"T", type}, {"index", static_cast<int64_t>(index)}};
    if (shapes_ != nullptr && static_cast<size_t>(index) < shapes_->size()) {
      const ArgShape& known = (*shapes_)[static_cast<size_t>(index)];
      own.Set("_output_shapes", std::vector<PartialShape>{known.shape});
      if (known.handle != nullptr) {
        own.Set("_handle_dtypes", std::vector<DType>{known.handle->dtype});
        own.Set("_handle_shapes", std::vector<PartialShape>{known.handle->shape});
      }
    }
    for (const auto& [key, value] : own) {
      Message* to = node->MapMutable(nd::kAttr, key);
      to->Clear();
      RETURN_IF_ERROR(AttrValueToProto(value, to));
    }
    return OkStatus();
  }

  // The types of an argument of the function itself.
  Result<std::vector<DType>> TypesOf(const ArgDef& arg) const {
    if (!arg.type_list_attr.empty()) {
      return attrs_.Find(arg.type_list_attr)->Get<std::vector<DType>>();
    }
    int64_t count = 1;
    DType type = arg.type;
    if (!arg.number_attr.empty()) {
      ASSIGN_OR_RETURN(count, attrs_.Find(arg.number_attr)->Get<int64_t>());
    }
    if (!arg.type_attr.empty()) {
      ASSIGN_OR_RETURN(type, attrs_.Find(arg.type_attr)->Get<DType>());
    }
    if (count < 0 || count > kMaxArgSize) {
      return InvalidArgument("argument '", arg.name, "' stands for ", count, " values, expected 0 ",
                             "to ", kMaxArgSize);
    }
    return std::vector<DType>(static_cast<size_t>(count), type);
  }

  Status ResolveInputs(Message* node) {
    std::vector<std::string> inputs;
    for (std::string_view text : node->Repeated<std::string_view>(nd::kInput)) {
      if (text.starts_with('^')) {
        ASSIGN_OR_RETURN(std::string control, names_.ResolveControl(text.substr(1)));
        inputs.push_back(StrCat("^", control));
        continue;
      }
      Result<std::vector<std::string>> names = names_.Resolve(text);
      if (!names.ok()) {
        return names.status().WithContext(
            StrCat("node '", node->GetString(nd::kName), "', input '", text, "'"));
      }
      inputs.insert(inputs.end(), names->begin(), names->end());
    }
    node->Clear(nd::kInput);
    for (const std::string& input : inputs) node->AddString(nd::kInput, input);
    return OkStatus();
  }

  Status FindReturns(ImportOptions* options) {
    for (const ArgDef& output : def_->outputs) {
      const Message* entry = definition_->FindEntry(pb::FunctionDef::kRet, output.name);
      if (entry == nullptr) {
        return InvalidArgument("no value is returned for output '", output.name, "'");
      }
      Result<std::vector<std::string>> names = names_.Resolve(entry->GetString(pb::kMapValue));
      if (!names.ok()) {
        return names.status().WithContext(StrCat("output '", output.name, "'"));
      }
      ASSIGN_OR_RETURN(const std::vector<DType> types, TypesOf(output));
      if (types.size() != names->size()) {
        return InvalidArgument("output '", output.name, "' must have ", types.size(),
                               " values, got ", names->size());
      }
      ret_types_.insert(ret_types_.end(), types.begin(), types.end());
      options->return_outputs.insert(options->return_outputs.end(), names->begin(), names->end());
    }
    for (const Message* entry : definition_->Messages(pb::FunctionDef::kControlRet)) {
      options->return_nodes.emplace_back(entry->GetString(pb::kMapValue));
    }
    return OkStatus();
  }

  Status Finish(const ImportedGraph& made) {
    body_->rets = made.return_outputs;
    for (size_t i = 0; i < ret_types_.size(); ++i) {
      if (body_->rets[i].dtype() != ret_types_[i]) {
        return InvalidArgument("return value ", i, " must be ", ret_types_[i], ", but '",
                               body_->rets[i].ToString(), "' is ", body_->rets[i].dtype());
      }
    }
    for (const std::string& name : arg_order_) {
      body_->args.push_back(body_->graph->FindNode(name));
    }
    body_->effects = made.return_nodes;
    AddEffects(*body_);
    SortBody(*body_);
    return OkStatus();
  }

  const FunctionLibrary& library_;
  const FunctionRef& function_;
  const std::vector<ArgShape>* shapes_;
  std::shared_ptr<FunctionBody> body_;
  OwnedMessage definition_;
  OwnedMessage graph_def_;
  const OpDef* def_ = nullptr;
  AttrMap attrs_;  // of the signature, complete
  BodyNames names_;
  std::unordered_set<std::string> arg_names_;
  std::vector<std::string> arg_order_;
  std::vector<DType> ret_types_;
};

Result<std::string> KeyOf(const FunctionRef& function) {
  OwnedMessage value(av::Descriptor());
  RETURN_IF_ERROR(AttrValueToProto(AttrValue(function), &*value));
  return Serialize(*value);
}

}  // namespace

Result<std::shared_ptr<const FunctionBody>> InstantiateFunction(
    const FunctionLibrary& library, const std::shared_ptr<const OpRegistry>& registry,
    const FunctionRef& function, const std::vector<ArgShape>* shapes) {
  if (library.FindOp(function.name) == nullptr) {
    NearestNames near(function.name);
    for (const std::string& name : library.Names()) near.Add(name);
    return NotFound("function '", function.name, "' is not in the library", near.ToString());
  }
  ASSIGN_OR_RETURN(const std::string key, KeyOf(function));
  if (shapes == nullptr) {
    if (std::shared_ptr<const FunctionBody> body = library.FindBody(key); body != nullptr) {
      return body;
    }
  }
  const auto same = [&](const std::string* other) { return *other == key; };
  if (in_progress.size() >= (shapes == nullptr ? kMaxNested : kMaxNestedShapes) ||
      std::any_of(in_progress.begin(), in_progress.end(), same)) {
    return FailedPrecondition("function '", function.name, "' is being looked at already");
  }
  const InProgress guard(key);
  BodyMaker maker(library, registry, function, shapes);
  ASSIGN_OR_RETURN(std::shared_ptr<const FunctionBody> body, maker.Make());
  if (shapes == nullptr) library.KeepBody(key, body);
  return body;
}

}  // namespace thalweg
