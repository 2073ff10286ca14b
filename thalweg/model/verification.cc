// SPDX-License-Identifier: Apache-2.0
#include "thalweg/model/verification.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "thalweg/graph/function_body.h"
#include "thalweg/model/nesting.h"
#include "thalweg/proto/json_writer.h"

namespace thalweg {
namespace {

// What a Run of the signature would feed beside what was recorded.
void FeedDefaults(const ModelSignature& signature, Signature* request,
                  std::vector<Tensor>* values) {
  for (const ModelTensor& input : signature.inputs) {
    const bool is_fed = std::find(request->feeds.begin(), request->feeds.end(), input.output) !=
                        request->feeds.end();
    if (is_fed || input.default_value.empty()) continue;
    request->feeds.push_back(input.output);
    values->push_back(input.default_value);
  }
}

class Verifier {
 public:
  Verifier(const Model& model, size_t place)
      : model_(model), signature_(model.signatures()[place]) {}

  Result<Verification> Run(const RecordedStep& recorded, const CompareOptions& options,
                           const RunOptions& run) {
    Signature request;
    std::vector<Tensor> values;
    for (const auto& [name, value] : recorded.inputs) {
      ASSIGN_OR_RETURN(const Output feed, FindTensor(*model_.graph(), signature_.inputs, name));
      request.feeds.push_back(feed);
      values.push_back(value);
    }
    FeedDefaults(signature_, &request, &values);
    RETURN_IF_ERROR(Sort(recorded.values));
    for (const Row& row : rows_) request.fetches.push_back(row.output);
    std::vector<Tensor> found(rows_.size());
    RETURN_IF_ERROR(model_.session()->Run(run, request, values, found));
    Verification verified;
    verified.missing = missing_;
    for (size_t i = 0; i < rows_.size(); ++i) {
      ASSIGN_OR_RETURN(VerifiedValue value, Compare(rows_[i], found[i], options));
      if (!value.is_same && verified.first < 0) verified.first = static_cast<int>(i);
      verified.values.push_back(std::move(value));
    }
    if (verified.first < 0) return verified;
    // How near they are, also where that is near enough.
    for (const int input : verified.values[static_cast<size_t>(verified.first)].inputs) {
      const auto i = static_cast<size_t>(input);
      if (!verified.values[i].is_same) continue;
      ASSIGN_OR_RETURN(verified.values[i].difference,
                       CompareTensors(found[i], *rows_[i].recorded, {}));
    }
    return verified;
  }

 private:
  struct Row {
    const std::string* name;
    const Tensor* recorded;
    Output output;
    int order = 0;
  };

  // Sources first.
  Status Sort(const NamedValues& values) {
    std::vector<int> order(static_cast<size_t>(model_.graph()->num_nodes()));
    int next = 0;
    for (const Node* node : NodesInOrder(*model_.graph())) {
      order[static_cast<size_t>(node->id())] = next++;
    }
    for (const auto& [name, value] : values) {
      const Result<Output> output = FindTensor(*model_.graph(), signature_.outputs, name);
      if (!output.ok()) {
        if (missing_.size() + 1 == values.size()) return output.status();
        missing_.push_back(name);
        continue;
      }
      rows_.push_back({&name, &value, *output, order[static_cast<size_t>(output->node->id())]});
    }
    std::stable_sort(rows_.begin(), rows_.end(),
                     [](const Row& a, const Row& b) { return a.order < b.order; });
    for (size_t i = 0; i < rows_.size(); ++i) {
      places_[rows_[i].output.node].push_back(static_cast<int>(i));
    }
    return OkStatus();
  }

  Result<VerifiedValue> Compare(const Row& row, const Tensor& found,
                                const CompareOptions& options) {
    VerifiedValue value{.name = *row.name,
                        .tensor = StrCat(row.output.node->name(), ":", row.output.index),
                        .operation = row.output.node->op_name()};
    if (found.dtype() != row.recorded->dtype() || found.shape() != row.recorded->shape()) {
      value.kind = StrCat("expected ", row.recorded->dtype(), " ", row.recorded->shape(),
                          ", found ", found.dtype(), " ", found.shape());
    } else {
      Result<std::optional<ValueDifference>> difference =
          CompareTensors(found, *row.recorded, options);
      RETURN_IF_ERROR(difference.status().WithContext(StrCat("'", *row.name, "'")));
      value.difference = *std::move(difference);
    }
    value.is_same = value.kind.empty() && !value.difference.has_value();
    if (!value.is_same) value.inputs = RecordedBefore(*row.output.node);
    return value;
  }

  // Going back from a node, the first recorded values on every path.
  std::vector<int> RecordedBefore(const Node& node) const {
    std::vector<int> before;
    std::unordered_set<const Node*> seen = {&node};
    std::vector<const Node*> open = {&node};
    while (!open.empty()) {
      const Node* const at = open.back();
      open.pop_back();
      for (const Output& input : at->inputs()) {
        if (input.node == nullptr || !seen.insert(input.node).second) continue;
        const auto places = places_.find(input.node);
        if (places == places_.end()) {
          open.push_back(input.node);
        } else {
          before.insert(before.end(), places->second.begin(), places->second.end());
        }
      }
    }
    std::sort(before.begin(), before.end());
    return before;
  }

  const Model& model_;
  const ModelSignature& signature_;
  std::vector<Row> rows_;
  std::vector<std::string> missing_;
  std::unordered_map<const Node*, std::vector<int>> places_;
};

void AppendValue(JsonWriter& json, const VerifiedValue& value) {
  json.BeginObject().Key("name").Text(value.name).Key("tensor").Text(value.tensor);
  json.Key("operation").Text(value.operation).Key("same").Bool(value.is_same);
  if (!value.kind.empty()) json.Key("kind").Text(value.kind);
  if (value.difference.has_value()) {
    const ValueDifference& difference = *value.difference;
    json.Key("differing").Number(difference.differing);
    if (difference.max_abs) {
      json.Key("max_abs").Number(*difference.max_abs).Key("max_rel").Number(*difference.max_rel);
    }
    json.Key("at").BeginList();
    for (const int64_t index : difference.first) json.Number(index);
    json.EndList().Key("found").Literal(difference.first_a);
    json.Key("expected").Literal(difference.first_b);
  }
  json.Key("inputs").BeginList();
  for (const int input : value.inputs) json.Number(input);
  json.EndList().EndObject();
}

}  // namespace

std::vector<Output> RecordableValues(const Model& model, size_t signature) {
  const ModelSignature& wanted = model.signatures()[signature];
  const std::vector<int> nesting = NestingOf(*model.graph());
  std::unordered_set<const Node*> seen;
  std::vector<Node*> open;
  for (const ModelTensor& input : wanted.inputs) seen.insert(input.output.node);
  const auto visit = [&](Node* node) {
    if (node != nullptr && seen.insert(node).second) open.push_back(node);
  };
  for (const ModelTensor& output : wanted.outputs) visit(output.output.node);
  std::unordered_set<const Node*> needed;
  while (!open.empty()) {
    Node* const node = open.back();
    open.pop_back();
    for (const Output& input : node->inputs()) visit(input.node);
    needed.insert(node);
  }
  std::vector<Output> values;
  for (Node* const node : NodesInOrder(*model.graph())) {
    if (!needed.contains(node) || nesting[static_cast<size_t>(node->id())] > 0) continue;
    for (int i = 0; i < node->num_outputs(); ++i) {
      const DType dtype = node->output_type(i);
      const bool is_value = IsPlain(dtype) || dtype == DType::kString;
      if (is_value && !node->output_is_ref(i)) values.push_back({node, i});
    }
  }
  return values;
}

Result<Verification> VerifyModel(const Model& model, size_t signature, const RecordedStep& recorded,
                                 const CompareOptions& options, const RunOptions& run) {
  Result<Verification> found = Verifier(model, signature).Run(recorded, options, run);
  if (found.ok()) return found;
  return std::move(found).status().WithContext(
      StrCat(model.path(), ": signature '", model.signatures()[signature].name, "'"));
}

std::string VerificationJson(const Verification& found) {
  JsonWriter json;
  json.BeginObject().Key("same").Bool(found.first < 0).Key("first");
  if (found.first < 0) {
    json.Null();
  } else {
    json.Number(found.first);
  }
  json.Key("values").BeginList();
  for (const VerifiedValue& value : found.values) AppendValue(json, value);
  json.EndList().Key("missing").BeginList();
  for (const std::string& name : found.missing) json.Text(name);
  json.EndList().EndObject();
  return json.Take();
}

}  // namespace thalweg
