// SPDX-License-Identifier: Apache-2.0
#include "thalweg/api/dataset_builder.h"

#include <cctype>

#include "thalweg/graph/function_calls.h"

namespace thalweg::api {
namespace {

// "flat_map" of "FlatMap": functions are called by their stage.
std::string SnakeCase(std::string_view name) {
  std::string made;
  for (const char c : name) {
    if (std::isupper(static_cast<unsigned char>(c)) != 0 && !made.empty()) made += '_';
    made += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return made;
}

}  // namespace

DatasetStage::DatasetStage(TwDatasetBuilder* builder, std::string_view name)
    : builder_(builder),
      name_(name),
      nodes_(GraphBuilder(builder->graph().graph.get())
                 .WithDevice(builder->device)
                 .WithSite(builder->graph().graph->InternSite(builder->site))) {}

std::vector<Output> DatasetStage::Inside(std::vector<Output> outputs) {
  FunctionBuilder* const function = builder_->graph().function.get();
  for (Output& output : outputs) {
    if (function == nullptr || !ok()) break;
    Result<Output> inside = function->Inside(output);
    if (inside.ok()) {
      output = *inside;
    } else {
      Fail(inside.status());
    }
  }
  return outputs;
}

Node* DatasetStage::OpNode(std::string_view op, std::vector<Output> inputs, AttrMap attrs,
                           std::vector<Node*> controls) {
  if (!ok()) return nullptr;
  inputs = Inside(std::move(inputs));
  return nodes_.WithControls(std::move(controls)).OpNode(op, std::move(inputs), std::move(attrs));
}

Output DatasetStage::Op(std::string_view op, std::vector<Output> inputs, AttrMap attrs) {
  return {OpNode(op, std::move(inputs), std::move(attrs)), 0};
}

Output DatasetStage::Number(const TwCount& count) {
  if (count.scalar.node == nullptr) return Scalar<int64_t>(count.value);
  return Given(count.scalar, "the number");
}

TwDataset DatasetStage::Source(std::string_view op, std::vector<Output> inputs,
                               ElementSpec elements, AttrMap attrs) {
  attrs.Set("output_types", elements.types);
  attrs.Set("output_shapes", elements.shapes);
  return {Op(op, std::move(inputs), std::move(attrs)), std::move(elements)};
}

TwDataset DatasetStage::Next(const TwDataset* dataset, std::string_view op,
                             const std::vector<Output>& inputs, ElementSpec elements,
                             AttrMap attrs) {
  if (!Require(dataset, "the dataset")) return {};
  return Source(op, Joined({dataset->variant}, inputs), std::move(elements), std::move(attrs));
}

TwDataset DatasetStage::Same(const TwDataset* dataset, std::string_view op,
                             const std::vector<Output>& inputs, AttrMap attrs) {
  if (!Require(dataset, "the dataset")) return {};
  return Next(dataset, op, inputs, dataset->elements, std::move(attrs));
}

DefinedFunction DatasetStage::EndFunction(const TwDataset* dataset,
                                          const std::vector<Output>& results) {
  if (!Require(dataset, "the dataset") || !ok()) return {};
  if (builder_->begun.empty()) {
    Fail(InvalidArgument("no function has been begun"));
    return {};
  }
  if (builder_->begun.back().dataset != dataset) {
    Fail(InvalidArgument("the function that was begun last is one of another dataset's elements"));
    return {};
  }
  TwDatasetBuilder::Begun begun = std::move(builder_->begun.back());
  builder_->begun.pop_back();
  FunctionBuilder& function = *begun.body->function;
  FunctionSpec spec;
  spec.name = "Dataset_" + SnakeCase(name_);
  spec.append_hash = true;
  spec.results = results;
  Result<std::string> defined = function.Define(spec);
  if (!defined.ok()) {
    Fail(defined.status());
    return {};
  }
  nodes_ = GraphBuilder(builder_->graph().graph.get())
               .WithDevice(builder_->device)
               .WithSite(builder_->graph().graph->InternSite(builder_->site));
  return {
      {*std::move(defined), {}}, function.captures(), SpecOf(results), std::move(begun.initial)};
}

std::vector<Output> DatasetStage::Given(const TwOutput* outputs, int32_t n, const char* what) {
  Result<std::vector<Output>> all = UnwrapAll(outputs, n, what);
  if (all.ok()) return *std::move(all);
  Fail(all.status());
  return {};
}

Output DatasetStage::Given(TwOutput output, const char* what) {
  Result<Output> given = UnwrapOutput(output, what);
  if (given.ok()) return *given;
  Fail(given.status());
  return {};
}

bool DatasetStage::Require(const void* pointer, const char* what) {
  if (pointer == nullptr) Fail(InvalidArgument(what, " is NULL"));
  return pointer != nullptr;
}

Status DatasetStage::status() const {
  const Status& status = nodes_.status();
  if (status.ok()) return status;
  const std::string& site = builder_->site;
  const bool is_said = site.empty() || status.message().find(site) != std::string_view::npos;
  return {status.code(),
          StrCat(name_, ": ", status.message(), is_said ? "" : StrCat(" (created at ", site, ")"))};
}

TwDataset RangeOf(DatasetStage& stage, const TwCount& start, const TwCount& stop,
                  const TwCount& step) {
  return stage.Source("RangeDataset", {stage.Number(start), stage.Number(stop), stage.Number(step)},
                      {{DType::kInt64}, {PartialShape(Shape())}});
}

TwDataset ShuffledOf(DatasetStage& stage, const TwDataset* dataset, Output buffer_size,
                     const int64_t* seed, bool reshuffles) {
  // Zeros stand for any seeds; a seed goes with the one of a graph that Python's front end has.
  constexpr int64_t kOfGraph = 87654321, kModulus = 0x7fffffff;
  int64_t given = seed == nullptr ? 0 : *seed;
  if (given > kModulus || given < -kModulus) given = ((given % kModulus) + kModulus) % kModulus;
  return stage.Same(
      dataset, "ShuffleDataset",
      {buffer_size, stage.Scalar<int64_t>(seed == nullptr ? 0 : kOfGraph), stage.Scalar(given)},
      {{"reshuffle_each_iteration", reshuffles}});
}

ElementSpec RowsOf(DatasetStage& stage, ElementSpec spec) {
  for (size_t i = 0; i < spec.shapes.size(); ++i) {
    PartialShape& shape = spec.shapes[i];
    if (!shape.known_rank()) continue;
    if (shape.rank() == 0) {
      stage.Fail(InvalidArgument("component ", i, " is a scalar, which has no rows"));
      break;
    }
    shape = PartialShape(Dims(std::span<const int64_t>(shape.dims()).subspan(1)));
  }
  return spec;
}

Result<PartialShape> UnwrapShape(const TwTensorSpec& spec) {
  if (spec.rank < 0) return PartialShape();
  RETURN_IF_ERROR(CheckArray(spec.dims, spec.rank, "dimension"));
  return PartialShape::Make({spec.dims, static_cast<size_t>(spec.rank)});
}

ElementSpec CommonOf(DatasetStage& stage, ElementSpec a, const ElementSpec& b) {
  if (a.types != b.types) {
    stage.Fail(InvalidArgument("the elements of both must have the same types"));
    return a;
  }
  for (size_t i = 0; i < a.shapes.size(); ++i) a.shapes[i] = CommonShape(a.shapes[i], b.shapes[i]);
  return a;
}

ElementSpec SpecOf(const std::vector<Output>& outputs) {
  ElementSpec spec;
  for (const Output& output : outputs) {
    spec.types.push_back(output.node->output_type(output.index));
    spec.shapes.push_back(output.node->output_shape(output.index));
  }
  return spec;
}

ElementSpec Joined(ElementSpec first, const ElementSpec& then) {
  first.types.insert(first.types.end(), then.types.begin(), then.types.end());
  first.shapes.insert(first.shapes.end(), then.shapes.begin(), then.shapes.end());
  return first;
}

std::vector<Output> Joined(std::vector<Output> first, const std::vector<Output>& then) {
  first.insert(first.end(), then.begin(), then.end());
  return first;
}

}  // namespace thalweg::api
