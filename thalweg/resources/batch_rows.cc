// SPDX-License-Identifier: Apache-2.0
#include "thalweg/resources/batch_rows.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "thalweg/base/prefetch.h"
#include "thalweg/kernel/made_texts.h"
#include "thalweg/tensor/variant.h"

namespace thalweg {
namespace {

// Smaller rows are copied: a view would keep the whole batch alive for little.
constexpr size_t kSmallestRowView = 4096;

Status Copy(Allocator& allocator, const Tensor& from, int64_t begin, Tensor* to, int64_t at,
            int64_t n) {
  switch (from.dtype()) {
    case DType::kString:
      RETURN_IF_ERROR(ClaimCopiesOf(allocator, *to, from, begin, n));
      std::copy_n(from.data<std::string>() + begin, n, to->mutable_data<std::string>() + at);
      return OkStatus();
    case DType::kResource:
      std::copy_n(from.data<ResourceHandle>() + begin, n, to->mutable_data<ResourceHandle>() + at);
      return OkStatus();
    case DType::kVariant:
      std::copy_n(from.data<Variant>() + begin, n, to->mutable_data<Variant>() + at);
      return OkStatus();
    default: {
      const size_t size = DTypeSize(from.dtype());
      std::memcpy(static_cast<char*>(to->mutable_raw_data()) + static_cast<size_t>(at) * size,
                  static_cast<const char*>(from.raw_data()) + static_cast<size_t>(begin) * size,
                  static_cast<size_t>(n) * size);
      return OkStatus();
    }
  }
}

// Rows of a queue have left the cache. A small one's elements are behind its header.
constexpr size_t kRowsAhead = 8;
void PrefetchRow(const Tensor& row) {
  constexpr size_t kHeaderAndText = 256;
  if (row.kind() != Tensor::Kind::kBuffer) return;
  Prefetch(reinterpret_cast<const void*>(row.payload_word()), kHeaderAndText);
}

// The strings of a row, for which there is room: those that nobody else sees are moved.
void MoveTexts(Tensor& row, std::string* to) {
  auto* const from = row.mutable_data<std::string>();
  const int64_t n = row.num_elements();
  if (row.IsSoleOwner()) {
    std::move(from, from + n, to);
  } else {
    std::copy_n(from, n, to);
  }
}

// Copies `from` into the lower corner of the part of `to` that begins at element `at` and has shape
// `shape`, of the same rank.
Status CopyCorner(Allocator& allocator, const Tensor& from, const Shape& shape, Tensor* to,
                  int64_t at) {
  const Shape small = from.shape();
  const int rank = small.rank();
  const int64_t row = rank == 0 ? 1 : small.dim(rank - 1);
  const int64_t rows = row == 0 ? 0 : from.num_elements() / row;
  for (int64_t r = 0; r < rows; ++r) {
    int64_t rest = r, offset = 0, below = rank == 0 ? 1 : shape.dim(rank - 1);
    for (int d = rank - 2; d >= 0; --d) {
      offset += rest % small.dim(d) * below;
      rest /= small.dim(d);
      below *= shape.dim(d);
    }
    RETURN_IF_ERROR(Copy(allocator, from, r * row, to, at + offset, row));
  }
  return OkStatus();
}

}  // namespace

Result<Tensor> RowOf(Allocator& allocator, const Tensor& batch, int64_t i) {
  Dims dims = batch.shape().dims();
  dims.erase(0);
  const Shape shape(std::move(dims));
  const int64_t n = shape.num_elements();
  const DType dtype = batch.dtype();
  const size_t bytes = static_cast<size_t>(n) * DTypeSize(dtype);
  if (bytes >= kSmallestRowView && bytes % kTensorAlignment == 0) {
    return batch.Rows(i, i + 1).Reshaped(shape);
  }
  ASSIGN_OR_RETURN(Tensor row, Tensor::Allocate(allocator, dtype, shape));
  if (n > 0) RETURN_IF_ERROR(Copy(allocator, batch, i * n, &row, 0, n));
  return row;
}

namespace {

Result<Tensor> AllocateBatch(Allocator& allocator, DType dtype, int64_t count, const Shape& row) {
  std::vector<int64_t> dims = {count};
  dims.insert(dims.end(), row.dims().begin(), row.dims().end());
  ASSIGN_OR_RETURN(const Shape whole, Shape::Make(dims));
  return Tensor::Allocate(allocator, dtype, whole);
}

}  // namespace

Result<Tensor> BatchOfRows(Allocator& allocator, std::span<Tensor* const> rows) {
  const Tensor& first = *rows[0];
  const DType dtype = first.dtype();
  const int64_t n = first.num_elements();
  ASSIGN_OR_RETURN(Tensor batch, AllocateBatch(allocator, dtype, static_cast<int64_t>(rows.size()),
                                               first.shape()));
  if (dtype == DType::kString) {
    size_t bytes = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      if (i + kRowsAhead < rows.size()) PrefetchRow(*rows[i + kRowsAhead]);
      bytes += TextHeapBytes(rows[i]->flat<std::string>());
    }
    RETURN_IF_ERROR(ClaimTextHeap(allocator, batch, bytes));
    auto* to = batch.mutable_data<std::string>();
    for (Tensor* const row : rows) MoveTexts(*row, std::exchange(to, to + n));
    return batch;
  }
  int64_t at = 0;
  for (const Tensor* row : rows) {
    RETURN_IF_ERROR(Copy(allocator, *row, 0, &batch, std::exchange(at, at + n), n));
  }
  return batch;
}

Result<Tensor> BatchOf(Allocator& allocator, DType dtype, const Shape& shape,
                       std::span<const Tensor> every, size_t stride) {
  const int64_t count = static_cast<int64_t>((every.size() + stride - 1) / stride);
  ASSIGN_OR_RETURN(Tensor batch, AllocateBatch(allocator, dtype, count, shape));
  if (count == 0) return batch;
  const int64_t n = shape.num_elements();
  const bool padded = std::ranges::any_of(every, [&](const Tensor& element) {
    return (&element - every.data()) % static_cast<std::ptrdiff_t>(stride) == 0 &&
           element.num_elements() != n;
  });
  if (padded && IsPlain(dtype)) std::memset(batch.mutable_raw_data(), 0, batch.bytes());
  for (int64_t i = 0; i < count; ++i) {
    const Tensor& element = every[static_cast<size_t>(i) * stride];
    if (element.num_elements() == n) {
      RETURN_IF_ERROR(Copy(allocator, element, 0, &batch, i * n, n));
    } else {
      RETURN_IF_ERROR(CopyCorner(allocator, element, shape, &batch, i * n));
    }
  }
  return batch;
}

Result<Tensor> PaddedBatchOf(Allocator& allocator, const Shape& shape,
                             std::span<const Tensor> every, const Tensor& value) {
  const int64_t n = shape.num_elements();
  ASSIGN_OR_RETURN(Tensor batch, BatchOf(allocator, value.dtype(), shape, every, 1));
  const bool is_zero =
      IsPlain(value.dtype()) &&
      std::all_of(static_cast<const char*>(value.raw_data()),
                  static_cast<const char*>(value.raw_data()) + DTypeSize(value.dtype()),
                  [](char byte) { return byte == 0; });
  const bool is_empty = value.dtype() == DType::kString && value.scalar<std::string>().empty();
  if (is_zero || is_empty) return batch;
  for (size_t i = 0; i < every.size(); ++i) {
    if (every[i].num_elements() == n) continue;
    const int64_t at = static_cast<int64_t>(i) * n;
    for (int64_t k = 0; k < n; ++k) {
      RETURN_IF_ERROR(Copy(allocator, value, 0, &batch, at + k, 1));
    }
    RETURN_IF_ERROR(CopyCorner(allocator, every[i], shape, &batch, at));
  }
  return batch;
}

namespace {

// A tensor of `rows` rows like those of `like`, of as many elements as `n` says.
Result<Tensor> RowsLike(Allocator& allocator, const Tensor& like, int64_t rows, int64_t* n) {
  const Shape shape = like.shape();
  std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
  dims[0] = 1;
  ASSIGN_OR_RETURN(const Shape row, Shape::Make(dims));
  *n = row.num_elements();
  dims[0] = rows;
  ASSIGN_OR_RETURN(const Shape whole, Shape::Make(dims));
  return Tensor::Allocate(allocator, like.dtype(), whole);
}

}  // namespace

Result<Tensor> CutRows(Allocator& allocator, const Tensor& batch, int64_t begin, int64_t end) {
  int64_t n = 0;
  ASSIGN_OR_RETURN(Tensor rows, RowsLike(allocator, batch, end - begin, &n));
  if (rows.num_elements() > 0) {
    RETURN_IF_ERROR(Copy(allocator, batch, begin * n, &rows, 0, (end - begin) * n));
  }
  return rows;
}

Result<Tensor> JoinRows(Allocator& allocator, std::span<const Tensor> parts, int64_t rows) {
  int64_t n = 0, at = 0;
  ASSIGN_OR_RETURN(Tensor whole, RowsLike(allocator, parts[0], rows, &n));
  if (whole.num_elements() == 0) return whole;
  const Tensor* first = nullptr;
  for (const Tensor& part : parts) {
    const int64_t count = part.num_elements();
    if (count == 0) continue;
    if (first == nullptr) first = &part;
    RETURN_IF_ERROR(Copy(allocator, part, 0, &whole, at, count));
    at += count;
  }
  for (; at < whole.num_elements(); at += n) {
    RETURN_IF_ERROR(Copy(allocator, *first, 0, &whole, at, n));
  }
  return whole;
}

}  // namespace thalweg
