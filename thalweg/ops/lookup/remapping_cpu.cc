// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "thalweg/base/file_system.h"
#include "thalweg/compute/cancel_looks.h"
#include "thalweg/compute/sort.h"
#include "thalweg/io/bundle_reader.h"
#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {
namespace {

Result<std::string> TextScalar(const Tensor& tensor, std::string_view what) {
  if (tensor.num_elements() == 1) return tensor.data<std::string>()[0];
  return InvalidArgument(what, " should be a single string, but got ", tensor.shape());
}

Result<std::vector<std::string>> LinesOf(const std::string& path, compute::CancelLooks& looks) {
  PosixFileSystem files;
  ASSIGN_OR_RETURN(const std::string text, ReadFile(files, path));
  std::vector<std::string> lines;
  for (std::string_view rest = text; !rest.empty();) {
    RETURN_IF_ERROR(looks.Did());
    const size_t end = rest.find('\n');
    std::string line(rest.substr(0, end));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    std::erase(line, '\r');
    if (line.empty()) {
      return InvalidArgument("Invalid content in ", path, ": empty line found at position ",
                             lines.size() + 1);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

class GenerateVocabRemappingCpu : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<GenerateVocabRemappingCpu>();
    ASSIGN_OR_RETURN(kernel->offset_, c.Attr<int64_t>("new_vocab_offset"));
    ASSIGN_OR_RETURN(kernel->count_, c.Attr<int64_t>("num_new_vocab"));
    ASSIGN_OR_RETURN(kernel->old_size_, c.Attr<int64_t>("old_vocab_size"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const std::string new_path, TextScalar(ctx.input(0), "new_vocab_file"));
    ASSIGN_OR_RETURN(const std::string old_path, TextScalar(ctx.input(1), "old_vocab_file"));
    compute::CancelLooks looks(ctx.work());
    ASSIGN_OR_RETURN(const std::vector<std::string> lines, LinesOf(new_path, looks));
    const auto size = static_cast<int64_t>(lines.size());
    if (count_ > size || offset_ > size - count_) {
      return InvalidArgument(
          "lookup table size must be larger than last new vocab entry's line: ", new_path, " has ",
          size, " lines, wanted are ", count_, " from line ", offset_);
    }
    ASSIGN_OR_RETURN(const auto places, PlacesIn(old_path, looks));
    ASSIGN_OR_RETURN(Tensor * remapping, ctx.AllocateOutput(0, DType::kInt64, Shape{count_}));
    int32_t present = 0;
    for (int64_t i = 0; i < count_; ++i) {
      RETURN_IF_ERROR(looks.Did());
      const auto found = places.find(lines[static_cast<size_t>(offset_ + i)]);
      if (found != places.end()) ++present;
      remapping->mutable_data<int64_t>()[i] = found == places.end() ? -1 : found->second;
    }
    ctx.set_output(1, Tensor::Scalar(present));
    return OkStatus();
  }

 private:
  // The numbers of the lines of the old vocabulary, as far as it counts.
  Result<std::unordered_map<std::string, int64_t>> PlacesIn(const std::string& path,
                                                            compute::CancelLooks& looks) const {
    ASSIGN_OR_RETURN(std::vector<std::string> lines, LinesOf(path, looks));
    if (old_size_ > static_cast<int64_t>(lines.size())) {
      return InvalidArgument("Invalid vocab_size in ", path, ": expected ", old_size_, " but got ",
                             lines.size());
    }
    if (old_size_ >= 0) lines.resize(static_cast<size_t>(old_size_));
    std::unordered_map<std::string, int64_t> places;
    for (std::string& line : lines) {
      RETURN_IF_ERROR(looks.Did());
      const auto place = static_cast<int64_t>(places.size());
      const auto [at, is_new] = places.try_emplace(std::move(line), place);
      if (!is_new) {
        return FailedPrecondition("HashTable has different value for same key. Key ", at->first,
                                  " has ", at->second, " and trying to add value ", place);
      }
    }
    return places;
  }

  int64_t offset_ = 0, count_ = 0, old_size_ = -1;
};

class LoadAndRemapMatrixCpu : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<LoadAndRemapMatrixCpu>();
    ASSIGN_OR_RETURN(kernel->rows_, c.Attr<int64_t>("num_rows"));
    ASSIGN_OR_RETURN(kernel->columns_, c.Attr<int64_t>("num_cols"));
    ASSIGN_OR_RETURN(kernel->most_rows_, c.Attr<int64_t>("max_rows_in_memory"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const std::string path, TextScalar(ctx.input(0), "ckpt_path"));
    ASSIGN_OR_RETURN(const std::string name, TextScalar(ctx.input(1), "old_tensor_name"));
    PosixFileSystem fs;
    ASSIGN_OR_RETURN(const auto reader, BundleReader::Open(fs, path));
    const BundleReader::Entry* const entry = reader->Find(name);
    if (entry == nullptr) return NotFound("Key ", name, " not found in checkpoint ", path);
    RETURN_IF_ERROR(Check(ctx, name, *entry));
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(std::vector<int64_t>{rows_, columns_}));
    ASSIGN_OR_RETURN(Tensor * matrix, ctx.AllocateOutput(0, DType::kFloat, shape));
    RETURN_IF_ERROR(Load(ctx, *reader, name, entry->shape, matrix->mutable_data<float>()));
    return Fill(ctx, matrix->mutable_data<float>());
  }

 private:
  Status Check(const Context& ctx, const std::string& name,
               const BundleReader::Entry& entry) const {
    const Tensor &rows = ctx.input(2), &columns = ctx.input(3);
    if (entry.dtype != DType::kFloat) {
      return InvalidArgument("Tensor ", name, " has invalid type ", entry.dtype,
                             " instead of expected type float32");
    }
    if (entry.shape.rank() != 2) {
      return InvalidArgument("Tensor ", name, " must be a matrix, it has shape ", entry.shape);
    }
    if (rows.rank() != 1 || rows.num_elements() != rows_) {
      return InvalidArgument("Size of row_remapping is ", rows.num_elements(),
                             " instead of being equal to num_rows=", rows_);
    }
    const bool all_columns = columns.num_elements() == 0;
    if (columns.rank() != 1 || (!all_columns && columns.num_elements() != columns_)) {
      return InvalidArgument("Provided col_remapping, but its size is ", columns.num_elements(),
                             " instead of being equal to num_cols=", columns_);
    }
    if (all_columns && entry.shape.dim(1) != columns_) {
      return InvalidArgument("Tensor ", name, " has shape ", entry.shape,
                             ", where the size of its 2nd dimension is ", entry.shape.dim(1),
                             " instead of being equal to num_cols=", columns_);
    }
    RETURN_IF_ERROR(CheckPlaces(rows, entry.shape.dim(0), "row_remapping"));
    return CheckPlaces(columns, entry.shape.dim(1), "col_remapping");
  }
  static Status CheckPlaces(const Tensor& places, int64_t limit, std::string_view what) {
    for (const int64_t place : places.flat<int64_t>()) {
      if (place >= limit) {
        return InvalidArgument(what, " has ", place, ", the tensor has only ", limit);
      }
    }
    return OkStatus();
  }

  // Copies what the checkpoint has, reading at most most_rows_ at a time when that is positive.
  Status Load(Context& ctx, const BundleReader& reader, const std::string& name, const Shape& old,
              float* out) const {
    const int64_t* const places = ctx.input(2).data<int64_t>();
    std::vector<std::pair<int64_t, int64_t>> wanted;  // old row, new row
    for (int64_t row = 0; row < rows_; ++row) {
      if (places[row] >= 0) wanted.emplace_back(places[row], row);
    }
    RETURN_IF_ERROR(compute::Sort(ctx.work(), wanted.begin(), wanted.end()));
    for (size_t i = 0; i < wanted.size();) {
      if (ctx.work().cancelled()) return CancelledStep();
      const int64_t begin = wanted[i].first;
      int64_t end = wanted.back().first + 1;
      if (most_rows_ > 0 && end - begin > most_rows_) end = begin + most_rows_;
      TensorSlice slice;
      slice.extents = {{begin, end - begin}, {}};
      ASSIGN_OR_RETURN(const Tensor rows, reader.ReadSlice(name, slice, ctx.allocator()));
      for (; i < wanted.size() && wanted[i].first < end; ++i) {
        CopyRow(ctx.input(3), rows.data<float>() + (wanted[i].first - begin) * old.dim(1),
                out + wanted[i].second * columns_);
      }
    }
    return OkStatus();
  }
  void CopyRow(const Tensor& columns, const float* from, float* to) const {
    if (columns.num_elements() == 0) {
      std::copy_n(from, columns_, to);
      return;
    }
    const int64_t* const places = columns.data<int64_t>();
    for (int64_t i = 0; i < columns_; ++i) {
      if (places[i] >= 0) to[i] = from[places[i]];
    }
  }

  // Gives what the checkpoint has not the initializing values, row by row.
  Status Fill(const Context& ctx, float* out) const {
    const Tensor &columns = ctx.input(3), &values = ctx.input(4);
    const int64_t* const rows = ctx.input(2).data<int64_t>();
    int64_t missing = 0;
    compute::CancelLooks looks(ctx.work());
    for (int64_t i = 0; i < rows_ * columns_; ++i) {
      RETURN_IF_ERROR(looks.Did());
      const bool has_row = rows[i / columns_] >= 0;
      if (has_row && (columns.num_elements() == 0 || columns.data<int64_t>()[i % columns_] >= 0)) {
        continue;
      }
      if (missing == values.num_elements()) {
        return InvalidArgument("initializing_values contained ", values.num_elements(),
                               " elements, but more missing values remain.");
      }
      out[i] = values.data<float>()[missing++];
    }
    if (missing == values.num_elements()) return OkStatus();
    return InvalidArgument("initializing_values contained ", values.num_elements(),
                           " elements, but only ", missing,
                           " elements were used to fill in missing values.");
  }

  int64_t rows_ = 0, columns_ = 0, most_rows_ = -1;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(remapping, cpu) {
  registry.Add<GenerateVocabRemappingCpu>("GenerateVocabRemapping", kCpu)
      .Cost(KernelCost::kExpensive);
  registry.Add<LoadAndRemapMatrixCpu>("LoadAndRemapMatrix", kCpu).Cost(KernelCost::kExpensive);
}
