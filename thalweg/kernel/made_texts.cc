// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/made_texts.h"

#include <algorithm>
#include <limits>

namespace thalweg {
namespace {

// Asked for at once, where there is that much: a string is shorter than a look at the limit.
constexpr int64_t kManyTexts = int64_t{1} << 20;

size_t Times(size_t bytes, int64_t times) {
  size_t product = 0;
  const bool fits = !__builtin_mul_overflow(bytes, static_cast<size_t>(times), &product);
  return fits ? product : std::numeric_limits<size_t>::max();
}

}  // namespace

bool TextMeter::AskFor(int64_t bytes) {
  MutexLock lock(mutex_);
  // What Take has taken away is given back, and asked for again beside others.
  int64_t left = left_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  if (!status_.ok()) return false;
  if (left < bytes) {
    const int64_t missing = bytes - std::max<int64_t>(left, 0);
    int64_t more = std::max(missing, kManyTexts);
    Status claimed = ClaimTextHeap(allocator_, out_, static_cast<size_t>(more));
    if (!claimed.ok() && more > missing) {
      more = missing;
      claimed = ClaimTextHeap(allocator_, out_, static_cast<size_t>(more));
    }
    if (!claimed.ok()) {
      status_ = std::move(claimed);
      return false;
    }
    left_.fetch_add(more, std::memory_order_relaxed);
  }
  left_.fetch_sub(bytes, std::memory_order_relaxed);
  return true;
}

Status ClaimCopies(Context& ctx, Tensor& out, const Tensor& value, int64_t times) {
  if (out.dtype() != DType::kString || value.empty() || times <= 0) return OkStatus();
  return ClaimTextHeap(ctx.allocator(), out,
                       Times(TextHeapBytes(value.flat<std::string>()), times));
}

Status ClaimCopiesOf(Allocator& allocator, Tensor& out, const Tensor& value, int64_t begin,
                     int64_t n) {
  if (out.dtype() != DType::kString) return OkStatus();
  const auto texts = value.flat<std::string>();
  return ClaimTextHeap(
      allocator, out,
      TextHeapBytes(texts.subspan(static_cast<size_t>(begin), static_cast<size_t>(n))));
}

Result<MovedLengths> MovedLengths::Of(Context& ctx, const Tensor& from, const Tensor& to) {
  MovedLengths lengths;
  // Vectors: an inline scalar would lie in the handle, which moves.
  ASSIGN_OR_RETURN(lengths.from_, ctx.AllocateTemporary(DType::kInt64, Shape{from.num_elements()}));
  ASSIGN_OR_RETURN(lengths.to_, ctx.AllocateTemporary(DType::kInt64, Shape{to.num_elements()}));
  std::ranges::transform(
      from.flat<std::string>(), lengths.from_.mutable_data<int64_t>(),
      [](const std::string& text) { return static_cast<int64_t>(TextHeapBytes(text.size())); });
  // Elements that nothing is moved to stay empty.
  std::fill_n(lengths.to_.mutable_data<int64_t>(), to.num_elements(), int64_t{0});
  return lengths;
}

Status MovedLengths::Claim(Context& ctx, Tensor& out) const {
  size_t bytes = 0;
  for (const int64_t length : to_.flat<int64_t>()) {
    if (__builtin_add_overflow(bytes, static_cast<size_t>(length), &bytes)) {
      bytes = std::numeric_limits<size_t>::max();
      break;
    }
  }
  return ClaimTextHeap(ctx.allocator(), out, bytes);
}

}  // namespace thalweg
