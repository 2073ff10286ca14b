// SPDX-License-Identifier: Apache-2.0
// Dataset: what a variant carries that is a dataset: how its elements are made. Immutable;
// iterators ask it for stages of their own.
//
//   ASSIGN_OR_RETURN(const DatasetPtr input, DatasetOf(ctx.input(0)));
//   ASSIGN_OR_RETURN(StagePtr stage, input->MakeStage(pipeline));
//
// Ownership: shared by all variants, datasets and stages that use it.
// Threads: all calls from any.
// Errors: InvalidArgument for a tensor that holds no dataset, another element than the spec's, and
// too long a pipeline.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "thalweg/base/mutex.h"
#include "thalweg/data/stage.h"
#include "thalweg/resources/nested_variant.h"
#include "thalweg/tensor/shape.h"

namespace thalweg {

class Dataset;
using DatasetPtr = std::shared_ptr<const Dataset>;

// What a dataset was made of, as far as a graph tells: who restores the state of an iterator learns
// by it whether the state is of the same dataset, and who reads an error where it came from.
struct DatasetOrigin {
  std::string op;                 // "BatchDatasetV2"
  uint64_t attrs = 0;             // fingerprint of attributes and functions
  std::vector<Tensor> arguments;  // beside datasets, and what functions have captured
  std::vector<DatasetPtr> inputs;
  PlacePtr place;
};

// Types and shapes of the components of its elements.
struct ElementSpec {
  std::vector<DType> types;
  std::vector<PartialShape> shapes;

  // InvalidArgument, in TensorFlow's words, where `other`'s elements are no elements of this.
  Status Admits(const ElementSpec& other) const;
  // An element that is none of this: InvalidArgument that names the component.
  Status Check(const Element& element) const;
};

class Dataset : public std::enable_shared_from_this<Dataset> {
 public:
  static constexpr int64_t kInfinite = -1;
  static constexpr int64_t kUnknown = -2;

  explicit Dataset(ElementSpec spec, const std::vector<DatasetPtr>& inputs = {});
  Dataset(const Dataset&) = delete;
  Dataset& operator=(const Dataset&) = delete;
  virtual ~Dataset() = default;

  const ElementSpec& spec() const { return spec_; }
  Result<StagePtr> MakeStage(const PipelineRef& pipeline) const EXCLUDES(mutex_);
  // How many elements, kInfinite or kUnknown.
  virtual int64_t Cardinality() const { return kUnknown; }
  // What a message calls it: "Map", "Shuffle".
  virtual std::string Kind() const = 0;
  std::string DebugString() const { return Kind() + " dataset"; }

  // How many datasets follow each other up to this one.
  int length() const { return length_; }

  // Once, by who made it of a node; a second origin is that of an operation that gives it on.
  void SetOrigin(DatasetOrigin origin) const EXCLUDES(mutex_);
  // A line for each dataset of the pipeline, from the last to its sources: operation, fingerprint.
  // Empty where nobody has told the origin of this one.
  std::string Lineage() const EXCLUDES(mutex_);

 private:
  virtual Result<StagePtr> DoMakeStage(const PipelineRef& pipeline) const = 0;
  void AddLineage(std::string* lines) const EXCLUDES(mutex_);

  const ElementSpec spec_;
  int length_ = 1;
  mutable Mutex mutex_;
  mutable std::unique_ptr<const DatasetOrigin> origin_ GUARDED_BY(mutex_);
  mutable std::string line_ GUARDED_BY(mutex_);  // empty: not made yet
};

// What a variant carries that is a dataset. Stages call each other, and datasets are freed by
// recursion, so the length of a pipeline is bounded as the nesting of variants is.
class DatasetValue : public NestedVariant {
 public:
  // `length`: of the longest chain of datasets that ends with this one, whoever holds them.
  DatasetValue(DatasetPtr dataset, int length) : dataset_(std::move(dataset)), length_(length) {}
  const DatasetPtr& dataset() const { return dataset_; }
  int length() const { return length_; }
  int depth() const override { return DepthOf(length_); }
  std::string TypeName() const override { return "tensorflow::DatasetVariantWrapper"; }
  std::string DebugString() const override { return dataset_->DebugString(); }

  static constexpr int kStepsForOneDeep = 32;
  static int DepthOf(int length) { return 1 + length / kStepsForOneDeep; }

 private:
  const DatasetPtr dataset_;
  const int length_;
};

// The dataset that a tensor holds; InvalidArgument for any other tensor.
Result<DatasetPtr> DatasetOf(const Tensor& tensor);
// A scalar variant that holds it. `held`: the tensors that it was made of, which may hold datasets.
// InvalidArgument where too many datasets follow each other, or are inside of each other.
Result<Tensor> TensorOf(DatasetPtr dataset, std::span<const Tensor> held = {});

}  // namespace thalweg
