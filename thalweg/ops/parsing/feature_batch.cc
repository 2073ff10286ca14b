// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/parsing/feature_batch.h"

#include <algorithm>
#include <deque>
#include <limits>

#include "thalweg/base/prefetch.h"
#include "thalweg/ops/parsing/value_sink.h"

namespace thalweg {
namespace {

class FeatureBatch {
 public:
  FeatureBatch(Context& ctx, const ParsedColumns& columns, const FeatureTexts& from)
      : ctx_(ctx),
        columns_(columns),
        from_(from),
        n_(static_cast<int64_t>(from.texts.size())),
        width_(columns.num_keys()),
        found_(ctx.work(), n_ * width_),
        starts_(ctx.work(), (n_ + 1) * width_),
        sinks_(static_cast<size_t>(width_)) {}

  Status Run() {
    if (!found_ || !starts_) return compute::OutOfScratch();
    RETURN_IF_ERROR(MakeFixedOutputs());
    const int64_t grain = ExamplesOfAShard(from_.texts);
    RETURN_IF_ERROR(ForExamples(grain, [this](int64_t e) { return Scan(e); }));
    if (!has_counted_) return OkStatus();
    RETURN_IF_ERROR(MakeCountedOutputs());
    return ForExamples(grain, [this](int64_t e) { return Put(e); });
  }

 private:
  bool is_dense(int slot) const {
    return slot >= columns_.num_sparse() && slot < columns_.first_ragged();
  }
  const DenseColumn& dense(int slot) const {
    return columns_.dense[static_cast<size_t>(slot - columns_.num_sparse())];
  }
  bool is_counted(int slot) const { return !is_dense(slot) || dense(slot).is_variable; }
  const Tensor& default_of(int slot) const {
    return ctx_.input(from_.first_default + slot - columns_.num_sparse());
  }
  DType dtype_of(int slot) const {
    if (is_dense(slot)) return dense(slot).dtype;
    const bool sparse = slot < columns_.num_sparse();
    return sparse ? columns_.sparse[static_cast<size_t>(slot)]
                  : columns_.ragged[static_cast<size_t>(slot - columns_.first_ragged())];
  }
  int dense_output(int slot) const {
    return 3 * columns_.num_sparse() + slot - columns_.num_sparse();
  }
  std::string_view& found(int64_t e, int slot) { return found_[e * width_ + slot]; }
  // First how many values there are, then where they begin.
  int64_t* starts(int slot) { return &starts_[slot * (n_ + 1)]; }
  ValueSink& sink(int slot) { return *sinks_[static_cast<size_t>(slot)]; }
  void MakeSink(int slot, Tensor* out) {
    sink_store_.emplace_back(ctx_.allocator(), *out);
    sinks_[static_cast<size_t>(slot)] = &sink_store_.back();
  }

  template <class Body>
  Status ForExamples(int64_t grain, const Body& body) {
    RETURN_IF_ERROR(compute::ForBlocks(ctx_.work(), n_, grain, [&](int64_t begin, int64_t end) {
      for (int64_t e = begin; e < end; ++e) {
        Status status = body(e);
        if (status.ok()) continue;
        error_.Set(e, std::move(status));
        return;
      }
    }));
    return error_.status();
  }

  Status CheckDefault(int slot) const {
    const DenseColumn& column = dense(slot);
    const Tensor& value = default_of(slot);
    const int d = slot - columns_.num_sparse();
    if (column.is_variable) {
      if (value.num_elements() == 1) return OkStatus();
      return InvalidArgument("dense_shape[", d, "] is a variable length shape: ", column.shape,
                             ", therefore def_value[", d,
                             "] must contain a single element (the padding element).  But its "
                             "shape is: ",
                             value.shape());
    }
    if (value.num_elements() == 0 || column.shape.Admits(value.shape())) return OkStatus();
    return InvalidArgument("def_value[", d, "].shape() == ", value.shape(),
                           " is not compatible with dense_shapes_[", d, "] == ", column.shape);
  }

  Status MakeFixedOutputs() {
    for (int slot = 0; slot < width_; ++slot) {
      if (is_dense(slot)) RETURN_IF_ERROR(CheckDefault(slot));
      if (is_counted(slot)) {
        has_counted_ = true;
        continue;
      }
      ASSIGN_OR_RETURN(const Shape shape, OutputShape(slot, 0));
      ASSIGN_OR_RETURN(Tensor * out,
                       ctx_.AllocateOutput(dense_output(slot), dtype_of(slot), shape));
      MakeSink(slot, out);
    }
    return OkStatus();
  }

  // The shape of a dense column; with `rows` rows, where it is variable.
  Result<Shape> OutputShape(int slot, int64_t rows) const {
    Dims dims;
    if (!from_.is_single) dims.push_back(n_);
    const Dims& own = dense(slot).shape.dims();
    for (int i = 0; i < own.size(); ++i) {
      dims.push_back(i == 0 && dense(slot).is_variable ? rows : own[i]);
    }
    return Shape::Make(dims);
  }

  // While an example is read the next one comes, which may have left the cache in a queue.
  void PrefetchText(int64_t e) const {
    if (e == n_) return;
    const std::string& text = from_.texts[static_cast<size_t>(e)];
    Prefetch(text.data(), text.size());
  }

  Status Scan(int64_t e) {
    std::string_view* const views = &found(e, 0);
    std::fill_n(views, width_, std::string_view());
    const std::string& text = from_.texts[static_cast<size_t>(e)];
    PrefetchText(e + 1);
    if (!FindFeatures(text, from_.keys, views)) return from_.words.NotAMessage(e, text);
    for (int slot = 0; slot < width_; ++slot) RETURN_IF_ERROR(ScanFeature(e, slot, views[slot]));
    return OkStatus();
  }

  Status ScanFeature(int64_t e, int slot, std::string_view& view) {
    const DType dtype = dtype_of(slot);
    const std::string& key = from_.keys.key(slot);
    EncodedList list;
    if (!ReadFeature(view, &list)) return from_.words.NotAFeature(e, key);
    if (list.kind == FeatureKind::kNone) {
      view = {};
      if (is_counted(slot)) {
        starts(slot)[e] = 0;
        return OkStatus();
      }
      const Tensor& value = default_of(slot);
      if (value.num_elements() == 0) return from_.words.Missing(e, key, dtype);
      return sink(slot).Fill(value, e * dense(slot).size, dense(slot).size);
    }
    if (list.kind != KindOf(dtype)) {
      return from_.words.WrongType(e, key, dtype, list.kind, is_dense(slot));
    }
    const int64_t count = CountValues(list);
    if (count < 0) return from_.words.NotAFeature(e, key);
    view = list.bytes;
    if (!is_dense(slot)) {
      starts(slot)[e] = count;
      return OkStatus();
    }
    return ScanDense(e, slot, list, count);
  }

  Status ScanDense(int64_t e, int slot, const EncodedList& list, int64_t count) {
    const DenseColumn& column = dense(slot);
    if (column.is_variable) {
      if (column.size == 0 ? count != 0 : count % column.size != 0) {
        return from_.words.NotAMultiple(e, from_.keys.key(slot), column.dtype, count, column.shape);
      }
      starts(slot)[e] = count;
      return OkStatus();
    }
    if (count != column.size) {
      return from_.words.WrongCount(e, from_.keys.key(slot), column.dtype, count, column.shape);
    }
    return Read(e, slot, list, e * column.size);
  }

  Status Read(int64_t e, int slot, const EncodedList& list, int64_t at) {
    Status status = sink(slot).Put(list, at);
    if (status.code() != Code::kInvalidArgument) return status;
    return from_.words.NotAFeature(e, from_.keys.key(slot));
  }

  Status MakeCountedOutputs() {
    for (int slot = 0; slot < width_; ++slot) {
      if (!is_counted(slot)) continue;
      int64_t total = 0, most = 0;
      for (int64_t e = 0; e < n_; ++e) {
        most = std::max(most, starts(slot)[e]);
        total += std::exchange(starts(slot)[e], total);
      }
      starts(slot)[n_] = total;
      if (is_dense(slot)) {
        RETURN_IF_ERROR(MakeVariable(slot, most));
      } else if (slot < columns_.num_sparse()) {
        RETURN_IF_ERROR(MakeSparse(slot, total, most));
      } else {
        RETURN_IF_ERROR(MakeRagged(slot, total));
      }
    }
    return OkStatus();
  }

  Status MakeVariable(int slot, int64_t most) {
    ASSIGN_OR_RETURN(const Shape shape,
                     OutputShape(slot, dense(slot).size == 0 ? 0 : most / dense(slot).size));
    ASSIGN_OR_RETURN(Tensor * out, ctx_.AllocateOutput(dense_output(slot), dtype_of(slot), shape));
    MakeSink(slot, out);
    return OkStatus();
  }

  Status MakeSparse(int slot, int64_t total, int64_t most) {
    const int sparse = columns_.num_sparse();
    const Shape indices = from_.is_single ? Shape{total, 1} : Shape{total, 2};
    RETURN_IF_ERROR(ctx_.AllocateOutput(slot, DType::kInt64, indices).status());
    ASSIGN_OR_RETURN(Tensor * values,
                     ctx_.AllocateOutput(sparse + slot, dtype_of(slot), Shape{total}));
    MakeSink(slot, values);
    ctx_.set_output(2 * sparse + slot, from_.is_single ? Tensor::Vector<int64_t>({most})
                                                       : Tensor::Vector<int64_t>({n_, most}));
    return OkStatus();
  }

  Status MakeRagged(int slot, int64_t total) {
    const auto number = static_cast<size_t>(slot - columns_.first_ragged());
    const int first = 3 * columns_.num_sparse() + static_cast<int>(columns_.dense.size());
    const int values = first + static_cast<int>(number);
    const int splits = values + static_cast<int>(columns_.ragged.size());
    ASSIGN_OR_RETURN(Tensor * out, ctx_.AllocateOutput(values, dtype_of(slot), Shape{total}));
    MakeSink(slot, out);
    // An example by itself is one row: it has no splits.
    const int64_t rows = from_.is_single ? 0 : n_ + 1;
    ASSIGN_OR_RETURN(Tensor * row_splits,
                     ctx_.AllocateOutput(splits, columns_.splits[number], Shape{rows}));
    return WriteSplits({starts(slot), static_cast<size_t>(rows)}, row_splits);
  }

  Status Put(int64_t e) {
    for (int slot = 0; slot < width_; ++slot) {
      if (!is_counted(slot)) continue;
      const int64_t begin = starts(slot)[e], count = starts(slot)[e + 1] - begin;
      const EncodedList list{KindOf(dtype_of(slot)), found(e, slot)};
      if (is_dense(slot)) {
        const int64_t row = n_ == 0 ? 0 : ctx_.output(dense_output(slot)).num_elements() / n_;
        RETURN_IF_ERROR(Read(e, slot, list, e * row));
        if (count == row) continue;
        RETURN_IF_ERROR(sink(slot).Fill(default_of(slot), e * row + count, row - count));
      } else {
        RETURN_IF_ERROR(Read(e, slot, list, begin));
        if (slot < columns_.num_sparse()) PutIndices(e, slot, begin, count);
      }
    }
    return OkStatus();
  }

  void PutIndices(int64_t e, int slot, int64_t begin, int64_t count) {
    auto* indices = ctx_.output(slot).mutable_data<int64_t>() + begin * (from_.is_single ? 1 : 2);
    for (int64_t i = 0; i < count; ++i) {
      if (!from_.is_single) *indices++ = e;
      *indices++ = i;
    }
  }

  Context& ctx_;
  const ParsedColumns& columns_;
  const FeatureTexts& from_;
  const int64_t n_;
  const int width_;
  compute::Scratch<std::string_view> found_;
  compute::Scratch<int64_t> starts_;
  std::deque<ValueSink> sink_store_;
  std::vector<ValueSink*> sinks_;
  bool has_counted_ = false;
  FirstWrongExample error_;
};

}  // namespace

Result<DenseColumn> MakeDenseColumn(DType dtype, const PartialShape& shape, size_t number) {
  DenseColumn column{.dtype = dtype, .shape = shape};
  bool known = shape.known_rank();
  Dims inner;
  for (int i = 0; known && i < shape.rank(); ++i) {
    column.is_variable |= i == 0 && shape.dim(0) < 0;
    known = i == 0 || shape.dim(i) >= 0;
    if (shape.dim(i) >= 0) inner.push_back(shape.dim(i));
  }
  if (!known) {
    return InvalidArgument("dense_shapes[", number,
                           "] has unknown rank or unknown inner dimensions: ", shape);
  }
  ASSIGN_OR_RETURN(const Shape whole, Shape::Make(inner));
  column.size = whole.num_elements();
  return column;
}

Result<ParsedColumns> ParsedColumns::Of(const KernelConstruction& c, std::string_view sparse_types,
                                        std::string_view dense_types,
                                        std::string_view dense_shapes) {
  ParsedColumns columns;
  ASSIGN_OR_RETURN(columns.sparse, c.Attr<std::vector<DType>>(sparse_types));
  ASSIGN_OR_RETURN(const auto types, c.Attr<std::vector<DType>>(dense_types));
  ASSIGN_OR_RETURN(const auto shapes, c.Attr<std::vector<PartialShape>>(dense_shapes));
  if (types.size() != shapes.size()) {
    return InvalidArgument("len(dense_keys) != len(dense_shapes): ", types.size(), " and ",
                           shapes.size());
  }
  for (size_t i = 0; i < types.size(); ++i) {
    ASSIGN_OR_RETURN(DenseColumn column, MakeDenseColumn(types[i], shapes[i], i));
    columns.dense.push_back(std::move(column));
  }
  return columns;
}

Status ParsedColumns::AddRagged(const KernelConstruction& c, std::string_view prefix) {
  ASSIGN_OR_RETURN(ragged, c.Attr<std::vector<DType>>(StrCat(prefix, "ragged_value_types")));
  ASSIGN_OR_RETURN(splits, c.Attr<std::vector<DType>>(StrCat(prefix, "ragged_split_types")));
  if (ragged.size() == splits.size()) return OkStatus();
  return InvalidArgument("len(ragged_value_types) != len(ragged_split_types): ", ragged.size(),
                         " and ", splits.size());
}

Status ParseFeatures(Context& ctx, const ParsedColumns& columns, const FeatureTexts& from) {
  return FeatureBatch(ctx, columns, from).Run();
}

int64_t ExamplesOfAShard(std::span<const std::string> texts) {
  constexpr size_t kShardBytes = 16384;
  size_t bytes = 0;
  for (const std::string& text : texts) bytes += text.size();
  const size_t each = bytes / std::max<size_t>(texts.size(), 1) + 64;
  return static_cast<int64_t>(std::max<size_t>(kShardBytes / each, 1));
}

Status WriteSplits(std::span<const int64_t> starts, Tensor* splits) {
  if (splits->dtype() == DType::kInt64) {
    std::copy(starts.begin(), starts.end(), splits->mutable_data<int64_t>());
    return OkStatus();
  }
  if (!starts.empty() && starts.back() > std::numeric_limits<int32_t>::max()) {
    return InvalidArgument("ragged row splits of type int32 cannot count ", starts.back(),
                           " values; ask for int64");
  }
  std::transform(starts.begin(), starts.end(), splits->mutable_data<int32_t>(),
                 [](int64_t start) { return static_cast<int32_t>(start); });
  return OkStatus();
}

}  // namespace thalweg
