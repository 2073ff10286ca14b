// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/node_maker.h"

#include <algorithm>

#include "thalweg/graph/function.h"
#include "thalweg/graph/nearest_names.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

void SetDefaultLengths(const OpDef& def, AttrMap& attrs) {
  std::vector<const AttrDef*> open;
  for (const ArgDef& arg : def.inputs) {
    if (!arg.is_list()) continue;
    const AttrDef* attr =
        def.FindAttr(arg.number_attr.empty() ? arg.type_list_attr : arg.number_attr);
    if (attrs.Find(attr->name) != nullptr) continue;
    if (std::find(open.begin(), open.end(), attr) == open.end()) open.push_back(attr);
  }
  if (open.size() < 2) return;
  for (const AttrDef* attr : open) {
    if (attr->default_value.has_value()) attrs.Set(attr->name, *attr->default_value);
  }
}

using Kind = AttrValue::Kind;

// A list attribute may ask for any number of outputs; this many is a mistake.
constexpr int64_t kMaxOutputs = int64_t{1} << 20;

Node::Control ControlOf(std::string_view op) {
  using Control = Node::Control;
  struct Row {
    std::string_view op;
    Control control;
  };
  static constexpr Row kRows[] = {
      {"Switch", Control::kSwitch},
      {"RefSwitch", Control::kSwitch},
      {"Merge", Control::kMerge},
      {"RefMerge", Control::kMerge},
      {"Enter", Control::kEnter},
      {"RefEnter", Control::kEnter},
      {"Exit", Control::kExit},
      {"RefExit", Control::kExit},
      {"NextIteration", Control::kNextIteration},
      {"RefNextIteration", Control::kNextIteration},
      {"LoopCond", Control::kLoopCond},
  };
  for (const Row& row : kRows) {
    if (row.op == op) return row.control;
  }
  return Control::kNone;
}

bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '/' || c == '-' || c == '\\' || c == '>';
}

AttrValue EmptyListOf(Kind kind) {
  switch (kind) {
    case Kind::kStringList:
      return std::vector<std::string>();
    case Kind::kIntList:
      return std::vector<int64_t>();
    case Kind::kFloatList:
      return std::vector<float>();
    case Kind::kBoolList:
      return std::vector<bool>();
    case Kind::kTypeList:
      return std::vector<DType>();
    case Kind::kShapeList:
      return std::vector<PartialShape>();
    case Kind::kTensorList:
      return std::vector<Tensor>();
    case Kind::kFunctionList:
      return std::vector<FunctionRef>();
    default:
      return AttrValue::EmptyList();
  }
}

}  // namespace

bool IsValidNodeName(std::string_view name) {
  if (name.empty() || !std::all_of(name.begin(), name.end(), IsNameCharacter)) return false;
  const char c = name[0];
  return c != '_' && c != '/' && c != '-' && c != '\\' && c != '>';
}

Result<std::unique_ptr<Node>> NodeMaker::Make() {
  Status status = FindOp();
  if (status.ok()) status = Build();
  if (status.ok()) return std::move(node_);
  std::string text;
  if (is_inferring_) {
    text = ShapeErrorText(status.message());
  } else if (def_ == nullptr) {  // in TensorFlow's words, too
    text = StrCat(status.message(), "; node '", spec_.name, "'");
  } else {
    text = StrCat(spec_.op, " '", node_ == nullptr ? spec_.name : node_->name(),
                  "': ", status.message());
  }
  if (spec_.site != 0) text.append(StrCat(" (created at ", graph_.Site(spec_.site), ")"));
  return Status(status.code(), std::move(text));
}

// TensorFlow's words come first, for programs that look for them; what a shape function says beyond
// them stands after "; " and goes behind the shapes.
std::string NodeMaker::ShapeErrorText(std::string_view message) const {
  const size_t more = message.find("; ");
  std::string text = StrCat(message.substr(0, more), " for '", node_->name(), "' (op: '",
                            def_->name, "') with input shapes: ");
  constexpr int kMostShapes = 16;
  for (int i = 0; i < node_->num_inputs() && i < kMostShapes; ++i) {
    text += StrCat(i == 0 ? "" : ", ", node_->input(i).shape());
  }
  text += node_->num_inputs() > kMostShapes ? StrCat(", ... (", node_->num_inputs(), ").") : ".";
  if (more != std::string_view::npos) text += message.substr(more);
  return text;
}

Status NodeMaker::RefineShape(const Output& output, const PartialShape& shape) {
  PartialShape& known = output.node->outputs_[static_cast<size_t>(output.index)].shape;
  Result<PartialShape> merged = known.MergeWith(shape);
  RETURN_IF_ERROR(Explained(merged.status(), "the shape of '", output.ToString(), "'"));
  known = *std::move(merged);
  return OkStatus();
}

Status NodeMaker::ReplaceInput(Node* node, int i, const Output& source) {
  const auto k = static_cast<size_t>(i);
  if (source.dtype() != node->input_types_[k]) {
    return InvalidArgument(node->Label(), ": input ", i, " must be ", node->input_types_[k],
                           ", but '", source.ToString(), "' is ", source.dtype());
  }
  if (node->input_is_ref(i) && !source.node->output_is_ref(source.index)) {
    return InvalidArgument(node->Label(), ": input ", i, " must be a reference to a variable, ",
                           "but '", source.ToString(), "' is a plain value");
  }
  node->inputs_[k] = source;
  return OkStatus();
}

Status NodeMaker::Rewire(Node* node, int i, const Output& source) {
  Graph& graph = node->graph();
  if (i < 0 || i >= node->num_inputs()) {
    return InvalidArgument(node->Label(), " has ", node->num_inputs(), " inputs, there is no ", i);
  }
  if (source.node == nullptr || &source.node->graph() != &graph) {
    return InvalidArgument(node->Label(), ": input ", i, " is an output of the same graph");
  }
  if (source.index < 0 || source.index >= source.node->num_outputs()) {
    return InvalidArgument(source.node->Label(), " has ", source.node->num_outputs(),
                           " outputs, there is no ", source.index);
  }
  const Output old = node->input(i);
  const bool was_back_edge =
      node->control() == Node::Control::kMerge &&
      (old.node == nullptr || old.node->control() == Node::Control::kNextIteration);
  if (was_back_edge || source.node->control() == Node::Control::kNextIteration) {
    return InvalidArgument(node->Label(), ": input ", i, " cannot become '", source.ToString(),
                           "': the back edge of a loop is set once");
  }
  const Result<PartialShape> merged = source.shape().MergeWith(old.shape());
  if (!merged.ok()) {
    return merged.status().WithContext(StrCat(node->Label(), ": '", source.ToString(),
                                              "' cannot stand for '", old.ToString(), "'"));
  }
  // A control edge goes ahead: the graph refuses one that closes a cycle, and remembers that an
  // edge leads from a newer node to an older one.
  const std::vector<Node*> before = node->control_inputs();
  RETURN_IF_ERROR(graph.AddControlInput(node, source.node));
  ReplaceControlInputs(node, before);
  return ReplaceInput(node, i, source);
}

void NodeMaker::ReplaceControlInputs(Node* node, std::vector<Node*> before) {
  node->control_inputs_ = std::move(before);
}

void NodeMaker::ReplaceAttr(Node* node, std::string_view attr, AttrValue value) {
  node->attrs_.Set(std::string(attr), std::move(value));
}

void NodeMaker::ReplaceDevice(Node* node, std::string device) { node->device_ = std::move(device); }

Status NodeMaker::FindOp() {
  // Functions first: to say that the registry knows no such name costs a look at all names.
  const OpEntry* entry = graph_.library().FindOp(spec_.op);
  if (entry == nullptr) {
    ASSIGN_OR_RETURN(entry, graph_.registry().Find(spec_.op));
  }
  def_ = &entry->def;
  node_ = std::make_unique<Node>();
  node_->graph_ = &graph_;
  node_->op_ = entry;
  node_->control_ = ControlOf(def_->name);
  node_->site_ = spec_.site;
  node_->name_ = std::move(spec_.name);
  node_->device_ = std::move(spec_.device);
  node_->inputs_ = std::move(spec_.inputs);
  node_->control_inputs_ = std::move(spec_.control_inputs);
  node_->attrs_ = std::move(spec_.attrs);
  return OkStatus();
}

Status NodeMaker::Build() {
  if (!node_->name_.empty() && !IsValidNodeName(node_->name_)) {
    return InvalidArgument("'", node_->name_, "' is no valid node name: expected letters, digits ",
                           "and \"_.\\/>-\", beginning with a letter, a digit or '.'");
  }
  RETURN_IF_ERROR(CheckSources());
  RETURN_IF_ERROR(CheckGivenAttrs());
  RETURN_IF_ERROR(SolveListLength());
  RETURN_IF_ERROR(MatchInputs());
  RETURN_IF_ERROR(CompleteAttrs());
  RETURN_IF_ERROR(MakeOutputs());
  return InferShapes();
}

Status NodeMaker::CheckSources() {
  const std::vector<Output>& inputs = node_->inputs_;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Output& source = inputs[i];
    if (source.node == nullptr) {
      if (node_->control_ == Node::Control::kMerge) continue;
      return InvalidArgument("input ", i, " is none: only a Merge may be made with an open input");
    }
    if (source.node->graph_ != &graph_) {
      return InvalidArgument("input ", i, " comes from ", source.node->Label(),
                             " of another graph");
    }
    if (source.index < 0 || source.index >= source.node->num_outputs()) {
      return InvalidArgument("input ", i, " is output ", source.index, " of ", source.node->Label(),
                             ", which has ", source.node->num_outputs(), " outputs");
    }
  }
  std::vector<Node*>& controls = node_->control_inputs_;
  for (size_t i = 0; i < controls.size(); ++i) {
    if (controls[i] == nullptr || controls[i]->graph_ != &graph_) {
      return InvalidArgument("control input ", i, " is no node of this graph");
    }
  }
  if (controls.size() > 1) {  // each once, in the order given
    std::unordered_set<Node*> seen;
    std::erase_if(controls, [&](Node* before) { return !seen.insert(before).second; });
  }
  return OkStatus();
}

Status NodeMaker::CheckGivenAttrs() {
  std::vector<std::pair<std::string_view, Kind>> untyped;
  for (const auto& [name, value] : node_->attrs_) {
    const AttrDef* attr = def_->FindAttr(name);
    if (attr == nullptr) {
      if (name.starts_with('_')) continue;
      NearestNames near(name);
      for (const AttrDef& candidate : def_->attrs) near.Add(candidate.name);
      return InvalidArgument("the operation has no attribute '", name, "'", near.ToString());
    }
    RETURN_IF_ERROR(CheckAttrValue(*attr, value));
    if (value.kind() == Kind::kEmptyList) untyped.emplace_back(attr->name, attr->kind);
  }
  for (const auto& [name, kind] : untyped) node_->attrs_.Set(name, EmptyListOf(kind));
  return OkStatus();
}

Result<std::optional<size_t>> NodeMaker::GivenLength(const ArgDef& arg) const {
  if (!arg.is_list()) return std::optional<size_t>(1);
  if (!arg.type_list_attr.empty()) {
    const AttrValue* types = node_->attrs_.Find(arg.type_list_attr);
    if (types == nullptr) return std::optional<size_t>();
    return std::optional<size_t>(types->list_size());
  }
  const AttrValue* number = node_->attrs_.Find(arg.number_attr);
  if (number == nullptr) return std::optional<size_t>();
  const int64_t length = *number->Get<int64_t>();
  if (length < 0) {
    return InvalidArgument("attribute '", arg.number_attr, "' must not be negative, got ", length);
  }
  return std::optional<size_t>(static_cast<size_t>(length));
}

Status NodeMaker::CountError() const {
  std::string wanted;
  for (const ArgDef& arg : def_->inputs) {
    wanted.append(wanted.empty() ? "" : ", ").append(arg.name);
    if (!arg.is_list()) continue;
    const std::string& attr = arg.number_attr.empty() ? arg.type_list_attr : arg.number_attr;
    wanted.append(StrCat(" (", attr));
    if (const AttrValue* given = node_->attrs_.Find(attr); given != nullptr) {
      wanted.append(StrCat("=", given->ToString()));
    }
    wanted.append(" of them)");
  }
  return InvalidArgument("expected the inputs (", wanted, "), got ", node_->inputs_.size(),
                         " inputs");
}

// At most one attribute that says how long a list is may be left to the number of inputs. Where more
// are open, those that have defaults have these: a graph may leave out what has its default.
Status NodeMaker::SolveListLength() {
  SetDefaultLengths(*def_, node_->attrs_);
  const size_t given = node_->inputs_.size();
  size_t known = 0;
  size_t uses = 0;
  for (const ArgDef& arg : def_->inputs) {
    ASSIGN_OR_RETURN(std::optional<size_t> length, GivenLength(arg));
    if (length.has_value()) {
      if (*length > given) return CountError();
      known += *length;
      continue;
    }
    const std::string& attr = arg.number_attr.empty() ? arg.type_list_attr : arg.number_attr;
    if (solved_attr_ != nullptr && *solved_attr_ != attr) {
      return InvalidArgument("attributes '", *solved_attr_, "' and '", attr,
                             "' cannot both be inferred from the number of inputs; give one");
    }
    solved_attr_ = &attr;
    ++uses;
  }
  if (known > given) return CountError();
  if (solved_attr_ == nullptr) return known == given ? OkStatus() : CountError();
  if ((given - known) % uses != 0) return CountError();
  solved_length_ = (given - known) / uses;
  if (def_->FindAttr(*solved_attr_)->kind == Kind::kInt) {
    node_->attrs_.Set(*solved_attr_, static_cast<int64_t>(solved_length_));
  }
  return OkStatus();
}

DType NodeMaker::SourceType(size_t i) const {
  const Output& source = node_->inputs_[i];
  return source.node == nullptr ? DType::kInvalid : source.node->output_type(source.index);
}

std::string NodeMaker::InputText(const ArgDef& arg, size_t begin, size_t i) const {
  return arg.is_list() ? StrCat("input '", arg.name, "' [", i - begin, "]")
                       : StrCat("input '", arg.name, "'");
}

Status NodeMaker::MatchInputs() {
  node_->input_types_.assign(node_->inputs_.size(), DType::kInvalid);
  size_t begin = 0;
  for (const ArgDef& arg : def_->inputs) {
    ASSIGN_OR_RETURN(std::optional<size_t> given, GivenLength(arg));
    const size_t end = begin + given.value_or(solved_length_);
    if (end > node_->inputs_.size()) return CountError();
    RETURN_IF_ERROR(MatchArg(arg, begin, end));
    begin = end;
  }
  return OkStatus();
}

Status NodeMaker::MatchArg(const ArgDef& arg, size_t begin, size_t end) {
  std::vector<DType> list;
  DType expected = arg.type;
  if (!arg.type_list_attr.empty()) {
    const AttrValue* given = node_->attrs_.Find(arg.type_list_attr);
    if (given != nullptr) {
      list = *given->Get<std::vector<DType>>();
    } else {
      for (size_t i = begin; i < end; ++i) list.push_back(SourceType(i));
      node_->attrs_.Set(arg.type_list_attr, list);
    }
  } else if (!arg.type_attr.empty()) {
    const AttrValue* given = node_->attrs_.Find(arg.type_attr);
    if (given != nullptr) {
      expected = *given->Get<DType>();
    } else {
      for (size_t i = begin; i < end && expected == DType::kInvalid; ++i) expected = SourceType(i);
      if (expected != DType::kInvalid) node_->attrs_.Set(arg.type_attr, expected);
    }
  }
  for (size_t i = begin; i < end; ++i) {
    const DType type = list.empty() ? expected : list[i - begin];
    node_->input_types_[i] = type;
    node_->ref_inputs_ |= arg.is_ref;
    const Output& source = node_->inputs_[i];
    if (source.node == nullptr) continue;
    if (SourceType(i) != type) {
      const std::string& attr = list.empty() ? arg.type_attr : arg.type_list_attr;
      return InvalidArgument(InputText(arg, begin, i), " must be ", type,
                             attr.empty() ? "" : StrCat(" as attribute '", attr, "' says"),
                             ", but '", source.ToString(), "' is ", SourceType(i));
    }
    if (arg.is_ref && !source.node->output_is_ref(source.index)) {
      return InvalidArgument(InputText(arg, begin, i), " must be a reference to a variable, but '",
                             source.ToString(), "' is a plain value");
    }
  }
  return OkStatus();
}

// Inferred attributes are checked as given ones are; what is left over must have a default.
Status NodeMaker::CompleteAttrs() {
  for (const ArgDef& arg : def_->inputs) {
    for (const std::string* name : {&arg.type_attr, &arg.number_attr, &arg.type_list_attr}) {
      if (name->empty()) continue;
      const AttrValue* value = node_->attrs_.Find(*name);
      if (value != nullptr) RETURN_IF_ERROR(CheckAttrValue(*def_->FindAttr(*name), *value));
    }
  }
  for (const AttrDef& attr : def_->attrs) {
    if (!attr.default_value.has_value() && node_->attrs_.Find(attr.name) == nullptr) {
      return InvalidArgument("attribute '", attr.name, "' (", AttrKindPhrase(attr.kind),
                             ") is missing: it has no default and no input fixes it");
    }
  }
  return OkStatus();
}

Status NodeMaker::MakeOutputs() {
  if (def_->outputs.size() == 1 && !def_->outputs[0].is_list()) node_->outputs_.reserve(1);
  for (const ArgDef& arg : def_->outputs) RETURN_IF_ERROR(AppendOutputs(arg));
  return OkStatus();
}

Status NodeMaker::AppendOutputs(const ArgDef& arg) {
  std::vector<DType> types;
  if (!arg.type_list_attr.empty()) {
    ASSIGN_OR_RETURN(types, node_->FindAttr(arg.type_list_attr)->Get<std::vector<DType>>());
  } else {
    int64_t count = 1;
    DType type = arg.type;
    if (!arg.number_attr.empty()) {
      ASSIGN_OR_RETURN(count, node_->FindAttr(arg.number_attr)->Get<int64_t>());
    }
    if (!arg.type_attr.empty()) {
      ASSIGN_OR_RETURN(type, node_->FindAttr(arg.type_attr)->Get<DType>());
    }
    if (count < 0 || count > kMaxOutputs) {
      return InvalidArgument("attribute '", arg.number_attr, "' must be from 0 to ", kMaxOutputs,
                             ", got ", count);
    }
    types.assign(static_cast<size_t>(count), type);
  }
  for (DType type : types) {
    Node::OutputInfo& output = node_->outputs_.emplace_back();
    output.dtype = type;
    output.is_ref = arg.is_ref;
  }
  return OkStatus();
}

Status NodeMaker::InferShapes() {
  if (node_->op_->shape == nullptr) return OkStatus();
  is_inferring_ = true;
  ShapeContext context(*node_);
  RETURN_IF_ERROR(node_->op_->shape(context));
  for (int i = 0; i < node_->num_outputs(); ++i) {
    node_->outputs_[i].shape = std::move(context.mutable_output(i));
    node_->outputs_[i].handle = std::move(context.handles()[i]);
  }
  return OkStatus();
}

}  // namespace thalweg
