// SPDX-License-Identifier: Apache-2.0
// What the handles of c_dataset.h are, and DatasetStage: one stage while its nodes are made.
//
//   return MakeDataset(builder, "Take", [&](DatasetStage& stage) {
//     return stage.Same(dataset, "TakeDataset", {stage.Number(count)});
//   });
//
// Ownership: datasets and bodies are the builder's.
// Threads: one at a time.
// Errors: the first one of a stage's parts sticks, as in GraphBuilder; the stage's is the
// builder's.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "thalweg/api/handles.h"
#include "thalweg/data/dataset.h"
#include "thalweg/graph/graph_builder.h"

struct TwDataset {
  thalweg::Output variant;
  thalweg::ElementSpec elements;
};

struct TwDatasetBuilder {
  // A function of elements that no stage has ended yet.
  struct Begun {
    TwGraph* body;
    const TwDataset* dataset;
    std::vector<thalweg::Output> initial;
  };

  TwGraph outside;
  std::string site;
  std::string device;
  std::vector<std::unique_ptr<TwGraph>> bodies;
  std::vector<Begun> begun;  // the innermost last
  std::deque<TwDataset> datasets;
  thalweg::Status status;

  TwGraph& graph() { return begun.empty() ? outside : *begun.back().body; }
};

namespace thalweg::api {

// A function of elements, defined: its name in the library, what it reads from outside, its
// results.
struct DefinedFunction {
  FunctionRef ref;
  std::vector<Output> captures;
  ElementSpec results;
  std::vector<Output> initial;
};

class DatasetStage {
 public:
  DatasetStage(TwDatasetBuilder* builder, std::string_view name);
  DatasetStage(const DatasetStage&) = delete;
  DatasetStage& operator=(const DatasetStage&) = delete;

  // Nodes of the stage; inputs may lie outside of the body that is being built.
  Node* OpNode(std::string_view op, std::vector<Output> inputs, AttrMap attrs = {},
               std::vector<Node*> controls = {});
  Output Op(std::string_view op, std::vector<Output> inputs, AttrMap attrs = {});
  Output Number(const TwCount& count);
  template <class T>
  Output Scalar(T value) {
    return nodes_.Const(Tensor::Scalar<T>(std::move(value)));
  }
  template <class T>
  Output Vector(const std::vector<T>& values) {
    return nodes_.Const(values);
  }
  Output Const(const Tensor& value) { return nodes_.Const(value); }

  // The dataset that an operation with output_types and output_shapes makes of `inputs`.
  TwDataset Source(std::string_view op, std::vector<Output> inputs, ElementSpec elements,
                   AttrMap attrs = {});
  // The one that it makes of `dataset` and `inputs`, of the same elements or of others.
  TwDataset Next(const TwDataset* dataset, std::string_view op, const std::vector<Output>& inputs,
                 ElementSpec elements, AttrMap attrs = {});
  TwDataset Same(const TwDataset* dataset, std::string_view op, const std::vector<Output>& inputs,
                 AttrMap attrs = {});
  // Ends the function of this dataset's elements that was begun last.
  DefinedFunction EndFunction(const TwDataset* dataset, const std::vector<Output>& results);

  // Outputs that the program gives, and the error of those that are none.
  std::vector<Output> Given(const TwOutput* outputs, int32_t n, const char* what);
  Output Given(TwOutput output, const char* what);
  bool Require(const void* pointer, const char* what);
  void Fail(Status status) { nodes_.Fail(std::move(status)); }  // nothing where it is ok
  bool ok() const { return nodes_.ok(); }
  // What the stage is called, why it cannot be, and the line it comes from.
  Status status() const;

 private:
  std::vector<Output> Inside(std::vector<Output> outputs);

  TwDatasetBuilder* const builder_;
  const std::string name_;
  GraphBuilder nodes_;
};

// Parts of several stages.
TwDataset RangeOf(DatasetStage& stage, const TwCount& start, const TwCount& stop,
                  const TwCount& step);
TwDataset ShuffledOf(DatasetStage& stage, const TwDataset* dataset, Output buffer_size,
                     const int64_t* seed, bool reshuffles);
// Shapes without their first dimension.
ElementSpec RowsOf(DatasetStage& stage, ElementSpec spec);

Result<PartialShape> UnwrapShape(const TwTensorSpec& spec);
// The shapes that both have.
ElementSpec CommonOf(DatasetStage& stage, ElementSpec a, const ElementSpec& b);
ElementSpec SpecOf(const std::vector<Output>& outputs);
ElementSpec Joined(ElementSpec first, const ElementSpec& then);
std::vector<Output> Joined(std::vector<Output> first, const std::vector<Output>& then);

// What `make` gives for a stage; T() after an error, which becomes the builder's.
template <class T, class Make>
T MakeStage(TwDatasetBuilder* builder, const char* name, const Make& make) {
  if (builder == nullptr || !builder->status.ok()) return T();
  T made = T();
  const auto whole = [&]() -> Status {
    DatasetStage stage(builder, name);
    T result = make(stage);
    RETURN_IF_ERROR(stage.status());
    made = std::move(result);
    return OkStatus();
  };
  try {
    builder->status = whole();
  } catch (const std::exception&) {
    builder->status = ResourceExhausted("out of memory");
  }
  return made;
}

// The same for a dataset, which the builder keeps.
template <class Make>
const TwDataset* MakeDataset(TwDatasetBuilder* builder, const char* name, const Make& make) {
  return MakeStage<const TwDataset*>(builder, name, [&](DatasetStage& stage) -> const TwDataset* {
    TwDataset made = make(stage);
    return stage.ok() ? &builder->datasets.emplace_back(std::move(made)) : nullptr;
  });
}

}  // namespace thalweg::api
