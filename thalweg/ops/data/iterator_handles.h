// SPDX-License-Identifier: Apache-2.0
// What kernels of iterators of every kind (`I`) share: what lives as long as its handle, and the
// handle's name as a text and back.
//
//   registry.AddFunction<IteratorToStringHandle<Iterator>>("IteratorToStringHandle", "CPU");
//   registry.Add<FromStringHandleCpu<Iterator>>("IteratorFromStringHandle", "CPU");
//
// Ownership: a handle holds what GiveAnonymous is given; a text holds nothing.
// Threads: kernels from any.
// Errors: InvalidArgument for a text that names no iterator, NotFound for one that has gone; those
// of ElementSpec::Admits.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/ops/data/dataset_kernel.h"
#include "thalweg/ops/data/iterator_wire.h"

namespace thalweg {

// A kernel that is made from what its node says of elements.
template <class K>
Result<std::unique_ptr<Kernel>> MakeWithSpec(const KernelConstruction& c) {
  ASSIGN_OR_RETURN(ElementSpec spec, SpecOf(c.node()));
  return std::unique_ptr<Kernel>(std::make_unique<K>(std::move(spec)));
}

// Output 0 is a handle of `made`, which nothing else holds; output 1, if there is one, is its
// deleter.
inline Status GiveAnonymous(Context& ctx, std::string_view name, std::string_view type,
                            RefPtr<Resource> made) {
  ResourceHandle::Place place;
  place.device = ctx.device().full_name();
  place.name = name;
  place.type_name = type;
  ctx.set_output(0, Tensor::Scalar(ResourceHandle(std::move(place), std::move(made))));
  if (ctx.num_outputs() == 1) return OkStatus();
  ASSIGN_OR_RETURN(Tensor deleter, Tensor::AllocateHost(DType::kVariant, Shape()));
  ctx.set_output(1, std::move(deleter));
  return OkStatus();
}

template <class I>
Status IteratorToStringHandle(Context& ctx) {
  RETURN_IF_ERROR(ctx.Resource<I>(0).status());
  ASSIGN_OR_RETURN(std::string text, TextOfHandle(ctx.input(0)));
  ctx.set_output(0, Tensor::Scalar(text));
  return OkStatus();
}

template <class I>
class FromStringHandleCpu : public Kernel {
 public:
  explicit FromStringHandleCpu(ElementSpec spec) : spec_(std::move(spec)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    return MakeWithSpec<FromStringHandleCpu>(c);
  }
  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const std::string text, TextArgument(ctx, 0, "string_handle"));
    ASSIGN_OR_RETURN(ResourceHandle::Place place, PlaceOfText(text));
    ASSIGN_OR_RETURN(RefPtr<I> iterator,
                     ctx.step().resources->Lookup<I>(place.container, place.name));
    // A node that says nothing takes any iterator.
    if (!spec_.types.empty()) RETURN_IF_ERROR(spec_.Admits(iterator->spec()));
    ctx.set_output(0, Tensor::Scalar(ResourceHandle(std::move(place),
                                                    RefPtr<Resource>::Adopt(iterator.release()))));
    return OkStatus();
  }

 private:
  const ElementSpec spec_;
};

}  // namespace thalweg
