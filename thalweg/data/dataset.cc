// SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/dataset.h"

#include <algorithm>
#include <cstdio>

#include "thalweg/base/fingerprint.h"
#include "thalweg/graph/function_fingerprint.h"

namespace thalweg {
namespace {

constexpr size_t kMostLineage = size_t{1} << 20;

}  // namespace

Status ElementSpec::Admits(const ElementSpec& other) const {
  if (types.size() != other.types.size()) {
    return InvalidArgument("Number of components does not match: expected ", types.size(),
                           " types but got ", other.types.size(), ".");
  }
  for (size_t i = 0; i < types.size(); ++i) {
    if (types[i] != other.types[i]) {
      return InvalidArgument("Data type mismatch at component ", i, ": expected ", types[i],
                             " but got ", other.types[i], ".");
    }
    if (!shapes[i].IsCompatibleWith(other.shapes[i])) {
      return InvalidArgument("Incompatible shapes at component ", i, ": expected ", shapes[i],
                             " but got ", other.shapes[i], ".");
    }
  }
  return OkStatus();
}

Status ElementSpec::Check(const Element& element) const {
  if (types.size() != element.size()) {
    return InvalidArgument("Number of components does not match: expected ", types.size(),
                           " types but got ", element.size(), ".");
  }
  for (size_t i = 0; i < types.size(); ++i) {
    if (types[i] != element[i].dtype()) {
      return InvalidArgument("Data type mismatch at component ", i, ": expected ", types[i],
                             " but got ", element[i].dtype(), ".");
    }
    if (!shapes[i].Admits(element[i].shape())) {
      return InvalidArgument("Incompatible shapes at component ", i, ": expected ", shapes[i],
                             " but got ", element[i].shape(), ".");
    }
  }
  return OkStatus();
}

Dataset::Dataset(ElementSpec spec, const std::vector<DatasetPtr>& inputs) : spec_(std::move(spec)) {
  for (const DatasetPtr& input : inputs) length_ = std::max(length_, input->length_ + 1);
}

Result<StagePtr> Dataset::MakeStage(const PipelineRef& pipeline) const {
  PlacePtr place;
  {
    MutexLock lock(mutex_);
    if (origin_ != nullptr) place = origin_->place;
  }
  Result<StagePtr> stage = DoMakeStage(pipeline);
  if (!stage.ok()) return AtPlace(stage.status(), place);
  (*stage)->set_place(std::move(place));
  return stage;
}

void Dataset::SetOrigin(DatasetOrigin origin) const {
  MutexLock lock(mutex_);
  if (origin_ == nullptr) origin_ = std::make_unique<const DatasetOrigin>(std::move(origin));
}

std::string Dataset::Lineage() const {
  std::string lines;
  AddLineage(&lines);
  return lines;
}

void Dataset::AddLineage(std::string* lines) const {
  std::vector<DatasetPtr> inputs;
  {
    MutexLock lock(mutex_);
    if (origin_ == nullptr) return;
    if (line_.empty()) {
      uint64_t hash = origin_->attrs;
      for (const Tensor& argument : origin_->arguments) {
        const uint64_t both[] = {hash, TensorFingerprint(argument)};
        hash = Fingerprint64({reinterpret_cast<const char*>(both), sizeof(both)});
      }
      char text[20];
      std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(hash));
      line_ = StrCat(origin_->op, " ", text, "\n");
    }
    *lines += line_;
    inputs = origin_->inputs;
  }
  // One that follows itself twice (zip) is listed twice, but not without end.
  if (lines->size() > kMostLineage) return;
  for (const DatasetPtr& input : inputs) input->AddLineage(lines);
}

namespace {

const DatasetValue* ValueOf(const Tensor& tensor) {
  if (tensor.empty() || tensor.dtype() != DType::kVariant || tensor.rank() != 0) return nullptr;
  return tensor.scalar<Variant>().As<DatasetValue>();
}

}  // namespace

Result<DatasetPtr> DatasetOf(const Tensor& tensor) {
  if (const DatasetValue* const value = ValueOf(tensor); value != nullptr) return value->dataset();
  return InvalidArgument("expected a scalar variant that holds a dataset, got ", tensor.dtype(),
                         tensor.shape());
}

Result<Tensor> TensorOf(DatasetPtr dataset, std::span<const Tensor> held) {
  int length = dataset->length();
  for (const Tensor& tensor : held) {
    const DatasetValue* const value = ValueOf(tensor);
    length = std::max(length, value != nullptr
                                  ? value->length() + 1
                                  : (DepthAround(tensor) - 1) * DatasetValue::kStepsForOneDeep);
  }
  auto value = std::make_shared<const DatasetValue>(std::move(dataset), length);
  RETURN_IF_ERROR(CheckDepth(*value));
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::AllocateHost(DType::kVariant, Shape()));
  *tensor.mutable_data<Variant>() = Variant(std::move(value));
  return tensor;
}

}  // namespace thalweg
