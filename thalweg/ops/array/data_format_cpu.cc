// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "thalweg/compute/move/gather.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

struct Formats {
  std::string from;
  std::string to;
};

Result<Formats> FormatsOf(const KernelConstruction& c) {
  Formats formats;
  ASSIGN_OR_RETURN(formats.from, c.Attr<std::string>("src_format"));
  ASSIGN_OR_RETURN(formats.to, c.Attr<std::string>("dst_format"));
  for (const std::string* format : {&formats.from, &formats.to}) {
    if (format->size() == 4 || format->size() == 5) continue;
    return InvalidArgument(format == &formats.from ? "Source" : "Destination",
                           " format must be of length 4 or 5, received ", *format);
  }
  std::string a = formats.from, b = formats.to;
  std::ranges::sort(a);
  std::ranges::sort(b);
  if (a != b || std::ranges::adjacent_find(a) != a.end()) {
    return InvalidArgument("Destination and source format must determine a permutation, got ",
                           formats.from, " and ", formats.to);
  }
  return formats;
}

template <class K>
Result<std::unique_ptr<Kernel>> CreateWithFormats(const KernelConstruction& c) {
  ASSIGN_OR_RETURN(Formats formats, FormatsOf(c));
  return std::unique_ptr<Kernel>(std::make_unique<K>(std::move(formats)));
}

class DataFormatDimMapCpu : public Kernel {
 public:
  explicit DataFormatDimMapCpu(const Formats& formats) {
    for (char name : formats.from) to_.push_back(static_cast<int64_t>(formats.to.find(name)));
  }
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    return CreateWithFormats<DataFormatDimMapCpu>(c);
  }

  Status Compute(Context& ctx) override {
    const Tensor& x = ctx.input(0);
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, x.dtype(), x.shape()));
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      ASSIGN_OR_RETURN(const int from, NormalizeAxis(IntAt(x, i), to_.size(), "x"));
      if (x.dtype() == DType::kInt32) {
        out->mutable_data<int32_t>()[i] = static_cast<int32_t>(to_[from]);
      } else {
        out->mutable_data<int64_t>()[i] = to_[from];
      }
    }
    return OkStatus();
  }

 private:
  Dims to_;
};

class DataFormatVecPermuteCpu : public Kernel {
 public:
  explicit DataFormatVecPermuteCpu(Formats formats) : formats_(std::move(formats)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    return CreateWithFormats<DataFormatVecPermuteCpu>(c);
  }

  Status Compute(Context& ctx) override {
    const Tensor& x = ctx.input(0);
    const auto full = static_cast<int64_t>(formats_.from.size());
    if (x.rank() != 1 && x.rank() != 2) {
      return InvalidArgument("input must be a vector or 2D tensor, but got shape ", x.shape());
    }
    if (x.dim(0) != full && x.dim(0) != full - 2) {
      return InvalidArgument(x.rank(), "D input must be of size ", full - 2, " or ", full,
                             ", but got shape ", x.shape());
    }
    if (x.rank() == 2 && x.dim(1) != 2) {
      return InvalidArgument("Second dimension of 2D input must be of size 2, but got shape ",
                             x.shape());
    }
    // A short input has the spatial dimensions only.
    std::string from = formats_.from, to = formats_.to;
    if (x.dim(0) < full) {
      for (std::string* format : {&from, &to}) {
        std::erase_if(*format, [](char name) { return name != 'D' && name != 'H' && name != 'W'; });
      }
      if (static_cast<int64_t>(from.size()) != x.dim(0)) {
        return InvalidArgument("formats ", formats_.from, " and ", formats_.to, " do not have ",
                               x.dim(0), " spatial dimensions");
      }
    }
    Dims rows;
    for (char name : to) rows.push_back(static_cast<int64_t>(from.find(name)));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, x.dtype(), x.shape()));
    return compute::GatherRows(
        ctx.work(), x.dtype(),
        {.rows = x.dim(0), .inner = x.rank() == 2 ? 2 : 1, .count = rows.size()}, x.raw_data(),
        rows.data(), out->mutable_raw_data());
  }

 private:
  const Formats formats_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(data_format, cpu) {
  for (DType dtype : {DType::kInt32, DType::kInt64}) {
    registry.Add<DataFormatDimMapCpu>("DataFormatDimMap", kCpu, {{"T", dtype}});
    registry.Add<DataFormatVecPermuteCpu>("DataFormatVecPermute", kCpu, {{"T", dtype}});
  }
}
