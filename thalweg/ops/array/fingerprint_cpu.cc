// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "thalweg/base/fingerprint.h"
#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {
namespace {

constexpr size_t kBytes = sizeof(uint64_t);

// Little endian, as all that is stored.
void Store(uint64_t fingerprint, char* to) {
  for (size_t i = 0; i < kBytes; ++i) to[i] = static_cast<char>(fingerprint >> (8 * i));
}

// A row of one text has its fingerprint; a row of several the fingerprint of theirs.
uint64_t OfTexts(const std::string* texts, int64_t n) {
  if (n == 1) return Fingerprint64(texts[0]);
  std::string each(static_cast<size_t>(n) * kBytes, '\0');
  for (int64_t i = 0; i < n; ++i) {
    Store(Fingerprint64(texts[i]), each.data() + static_cast<size_t>(i) * kBytes);
  }
  return Fingerprint64(each);
}

Status Fingerprint(Context& ctx) {
  const Tensor& data = ctx.input(0);
  const Tensor& method = ctx.input(1);
  if (method.rank() != 0) {
    return InvalidArgument("`method` should be a scalar string: ", method.shape());
  }
  if (method.scalar<std::string>() != "farmhash64") {
    return InvalidArgument("Unsupported fingerprint method: ", method.scalar<std::string>());
  }
  if (data.rank() == 0) {
    return InvalidArgument("`data` should have at least one dimension: ", data.shape());
  }
  if (!IsPlain(data.dtype()) && data.dtype() != DType::kString) {
    return InvalidArgument("Type not supported: ", data.dtype());
  }
  const int64_t rows = data.dim(0);
  const int64_t width = rows == 0 ? 0 : data.num_elements() / rows;
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, DType::kUint8, Shape{rows, int64_t{8}}));
  auto* const to = static_cast<char*>(out->mutable_raw_data());
  const size_t row_bytes = static_cast<size_t>(width) * DTypeSize(data.dtype());
  return compute::ForBlocks(ctx.work(), rows, 256, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto at = static_cast<size_t>(i);
      const uint64_t fingerprint =
          data.dtype() == DType::kString
              ? OfTexts(data.data<std::string>() + i * width, width)
              : Fingerprint64(
                    {static_cast<const char*>(data.raw_data()) + at * row_bytes, row_bytes});
      Store(fingerprint, to + at * kBytes);
    }
  });
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(fingerprint, cpu) { registry.AddFunction<Fingerprint>("Fingerprint", kCpu); }
