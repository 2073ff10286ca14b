// SPDX-License-Identifier: Apache-2.0
// What kernels of this family share: resources that a handle names and another operation makes,
// scalars, lists of inputs.
//
//   ASSIGN_OR_RETURN(const RefPtr<TreeEnsembleResource> trees,
//                    ctx.Resource<TreeEnsembleResource>(0));
//   ASSIGN_OR_RETURN(const float l1, ScalarInput<float>(ctx, 3, "l1"));
//   ASSIGN_OR_RETURN(const BucketColumns columns, BucketColumns::Of(ctx, 1, features));
//
// Ownership: columns point into the inputs.
// Threads: any.
// Errors: InvalidArgument.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/tensor/heap_charge.h"

namespace thalweg {

// A handle to a T that need not be there yet.
template <class T>
class NamedHandleCpu : public Kernel {
 public:
  explicit NamedHandleCpu(ResourceHandle::Place place)
      : handle_(Tensor::Scalar(ResourceHandle(std::move(place), RefPtr<Resource>()))) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ResourceHandle::Place place;
    place.device = c.device().full_name();
    ASSIGN_OR_RETURN(place.container, c.Attr<std::string>("container"));
    ASSIGN_OR_RETURN(place.name, c.Attr<std::string>("shared_name"));
    if (place.container.empty()) place.container = ResourceManager::kDefaultContainer;
    if (place.name.empty()) place.name = c.node().name();
    place.type_name = T::kTypeName;
    return std::unique_ptr<Kernel>(std::make_unique<NamedHandleCpu>(std::move(place)));
  }
  Status Compute(Context& ctx) override {
    ctx.set_output(0, handle_);
    return OkStatus();
  }

 private:
  const Tensor handle_;
};

// Puts `made` where input 0 says; what is there already stays.
template <class T>
Status KeepResource(Context& ctx, RefPtr<T> made) {
  const Tensor& handle = ctx.input(0);
  if (handle.dtype() != DType::kResource || handle.num_elements() < 1 ||
      handle.scalar<ResourceHandle>().place() == nullptr) {
    return InvalidArgument("input 0 must be a resource handle, got ", handle.dtype(),
                           handle.shape());
  }
  const ResourceHandle::Place& place = *handle.scalar<ResourceHandle>().place();
  return ctx.step()
      .resources
      ->LookupOrCreate<T>(place.container, place.name,
                          [&]() -> Result<RefPtr<T>> { return std::move(made); })
      .status();
}

template <class T>
Status IsResourceThere(Context& ctx) {
  const Result<RefPtr<T>> found = ctx.Resource<T>(0);
  if (!found.ok() && found.status().code() != Code::kNotFound) return found.status();
  ctx.set_output(0, Tensor::Scalar(found.ok()));
  return OkStatus();
}

template <class T>
Result<T> ScalarInput(Context& ctx, int i, std::string_view name) {
  if (ctx.input(i).num_elements() != 1) {
    return InvalidArgument(name, " must be a scalar, got shape ", ctx.input(i).shape());
  }
  return *ctx.input(i).data<T>();
}

inline Status CheckInputRank(Context& ctx, int i, int rank, std::string_view name) {
  if (ctx.input(i).shape().rank() == rank) return OkStatus();
  return InvalidArgument(name, " must have rank ", rank, ", got shape ", ctx.input(i).shape());
}

// Buckets of examples, feature by feature: a vector, or a matrix whose columns are the feature's
// dimensions.
class BucketColumns {
 public:
  static Result<BucketColumns> Of(Context& ctx, int first_input, int64_t count) {
    BucketColumns columns;
    for (int64_t i = 0; i < count; ++i) {
      const Tensor& t = ctx.input(first_input + static_cast<int>(i));
      if (t.shape().rank() != 1 && t.shape().rank() != 2) {
        return InvalidArgument("bucketized_features[", i, "] must be a vector or a matrix, got ",
                               "shape ", t.shape());
      }
      const int64_t rows = t.shape().dim(0);
      if (i == 0) columns.batch_size_ = rows;
      if (rows != columns.batch_size_) {
        return InvalidArgument("bucketized_features[", i, "] has ", rows,
                               " examples, those before have ", columns.batch_size_);
      }
      const bool is_vector = t.shape().rank() == 1;
      columns.features_.push_back({t.data<int32_t>(), is_vector ? 1 : t.shape().dim(1), is_vector});
    }
    return columns;
  }

  int64_t batch_size() const { return batch_size_; }
  // The value by which a node splits; null where there is no such feature. A vector has one value
  // whatever the dimension.
  const int32_t* Find(int64_t example, int32_t feature, int32_t dimension) const {
    if (feature >= static_cast<int64_t>(features_.size())) return nullptr;
    const Feature& f = features_[static_cast<size_t>(feature)];
    if (f.is_vector) dimension = 0;
    return dimension < f.dimensions ? f.values + example * f.dimensions + dimension : nullptr;
  }

 private:
  struct Feature {
    const int32_t* values;
    int64_t dimensions;
    bool is_vector;
  };
  std::vector<Feature> features_;
  int64_t batch_size_ = 0;
};

}  // namespace thalweg
