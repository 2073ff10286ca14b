// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/parsing/list_batch.h"

#include <algorithm>
#include <deque>

#include "thalweg/ops/parsing/value_sink.h"

namespace thalweg {
namespace {

// What one example has of one key.
struct ListSize {
  int64_t steps = 0;   // features; then where they begin among those of all examples
  int64_t values = 0;  // of all of them; then where they begin
  int64_t widest = 0;  // values of a feature
};

class ListBatch {
 public:
  ListBatch(Context& ctx, const ListColumns& columns, const ListTexts& from)
      : ctx_(ctx),
        lists_(columns),
        columns_(columns.features),
        from_(from),
        n_(static_cast<int64_t>(from.texts.size())),
        width_(columns_.num_keys()),
        found_(ctx.work(), n_ * width_),
        sizes_(ctx.work(), (n_ + 1) * width_),
        sinks_(static_cast<size_t>(width_)) {}

  Status Run() {
    if (width_ == 0) return OkStatus();
    if (!found_ || !sizes_) return compute::OutOfScratch();
    const int64_t grain = ExamplesOfAShard(from_.texts);
    RETURN_IF_ERROR(ForExamples(grain, [this](int64_t e) { return Scan(e); }));
    for (int slot = 0; slot < width_; ++slot) RETURN_IF_ERROR(MakeOutputs(slot));
    return ForExamples(grain, [this](int64_t e) { return Put(e); });
  }

 private:
  bool is_sparse(int slot) const { return slot < columns_.num_sparse(); }
  bool is_dense(int slot) const { return !is_sparse(slot) && slot < columns_.first_ragged(); }
  size_t number(int slot) const {
    return static_cast<size_t>(slot - (is_sparse(slot)  ? 0
                                       : is_dense(slot) ? columns_.num_sparse()
                                                        : columns_.first_ragged()));
  }
  const DenseColumn& dense(int slot) const { return columns_.dense[number(slot)]; }
  DType dtype_of(int slot) const {
    if (is_dense(slot)) return dense(slot).dtype;
    return is_sparse(slot) ? columns_.sparse[number(slot)] : columns_.ragged[number(slot)];
  }
  // Output `group` of a column: of a sparse one indices, values, shape; of a dense one values,
  // lengths; of a ragged one values, outer splits, inner splits.
  int output(int slot, int group) const {
    const int sparse = columns_.num_sparse(), ragged = static_cast<int>(columns_.ragged.size());
    const int dense = static_cast<int>(columns_.dense.size());
    const int place = static_cast<int>(number(slot));
    if (is_sparse(slot)) return from_.first_output + group * sparse + place;
    if (is_dense(slot)) return from_.first_output + 3 * sparse + group * dense + place;
    const int before = 3 * sparse + (lists_.has_lengths ? 2 : 1) * dense;
    return from_.first_output + before + group * ragged + place;
  }
  std::string_view& found(int64_t e, int slot) { return found_[e * width_ + slot]; }
  ListSize* sizes(int slot) { return &sizes_[slot * (n_ + 1)]; }
  ValueSink& sink(int slot) { return *sinks_[static_cast<size_t>(slot)]; }
  const std::string& key(int slot) const { return from_.keys.key(slot); }

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

  Status Scan(int64_t e) {
    std::string_view* const views = &found(e, 0);
    std::fill_n(views, width_, std::string_view());
    const std::string& text = from_.texts[static_cast<size_t>(e)];
    if (!FindFeatures(text, from_.keys, views, kFeatureListsField)) {
      return from_.words.NotAMessage(e, text);
    }
    for (int slot = 0; slot < width_; ++slot) {
      sizes(slot)[e] = {};
      if (views[slot].data() != nullptr) {
        RETURN_IF_ERROR(ScanList(e, slot, views[slot], &sizes(slot)[e]));
      } else if (is_dense(slot) && !from_.may_be_absent[number(slot)]) {
        return from_.words.ListMissing(e, key(slot));
      }
    }
    return OkStatus();
  }

  Status ScanList(int64_t e, int slot, std::string_view list, ListSize* size) {
    FeatureListReader reader(list);
    std::string_view feature;
    EncodedList values;
    while (reader.Next(&feature)) {
      const int64_t step = size->steps++;
      if (!ReadFeature(feature, &values)) return from_.words.NotAList(e, key(slot), step);
      const DType dtype = dtype_of(slot);
      if (values.kind != FeatureKind::kNone && values.kind != KindOf(dtype)) {
        return from_.words.ListWrongType(e, key(slot), step, dtype, values.kind);
      }
      const int64_t count = CountValues(values);
      if (count < 0) return from_.words.NotAList(e, key(slot), step);
      if (is_dense(slot) && count != dense(slot).size) {
        return from_.words.ListWrongCount(e, key(slot), step, dtype, count, dense(slot).shape);
      }
      size->values += count;
      size->widest = std::max(size->widest, count);
    }
    return reader.AtEnd() ? OkStatus() : from_.words.NotAList(e, key(slot), size->steps);
  }

  Status MakeOutputs(int slot) {
    ListSize most, total;
    for (int64_t e = 0; e < n_; ++e) {
      ListSize& size = sizes(slot)[e];
      most.steps = std::max(most.steps, size.steps);
      most.widest = std::max(most.widest, size.widest);
      total.steps += std::exchange(size.steps, total.steps);
      total.values += std::exchange(size.values, total.values);
    }
    sizes(slot)[n_] = total;
    if (is_dense(slot)) return MakeDense(slot, most.steps);
    const int values = is_sparse(slot) ? 1 : 0;
    if (is_sparse(slot)) {
      const Shape indices{total.values, from_.is_single ? 2 : 3};
      RETURN_IF_ERROR(ctx_.AllocateOutput(output(slot, 0), DType::kInt64, indices).status());
      ctx_.set_output(output(slot, 2),
                      from_.is_single ? Tensor::Vector<int64_t>({most.steps, most.widest})
                                      : Tensor::Vector<int64_t>({n_, most.steps, most.widest}));
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx_.AllocateOutput(output(slot, values), dtype_of(slot),
                                                       Shape{total.values}));
    MakeSink(slot, out);
    return is_sparse(slot) ? OkStatus() : MakeSplits(slot, total.steps);
  }

  Status MakeDense(int slot, int64_t steps) {
    Dims dims;
    if (!from_.is_single) dims.push_back(n_);
    dims.push_back(steps);
    for (const int64_t d : dense(slot).shape.dims()) dims.push_back(d);
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor * out, ctx_.AllocateOutput(output(slot, 0), dtype_of(slot), shape));
    MakeSink(slot, out);
    if (!lists_.has_lengths) return OkStatus();
    const Shape rows = from_.is_single ? Shape() : Shape{n_};
    ASSIGN_OR_RETURN(Tensor * lengths, ctx_.AllocateOutput(output(slot, 1), DType::kInt64, rows));
    auto* to = lengths->mutable_data<int64_t>();
    for (int64_t e = 0; e < n_; ++e) to[e] = sizes(slot)[e + 1].steps - sizes(slot)[e].steps;
    return OkStatus();
  }

  Status MakeSplits(int slot, int64_t steps) {
    const DType dtype = columns_.splits[number(slot)];
    const int64_t rows = from_.is_single ? 0 : n_ + 1;
    ASSIGN_OR_RETURN(Tensor * outer, ctx_.AllocateOutput(output(slot, 1), dtype, Shape{rows}));
    compute::Scratch<int64_t> starts(ctx_.work(), rows);
    if (!starts) return compute::OutOfScratch();
    for (int64_t e = 0; e < rows; ++e) starts[e] = sizes(slot)[e].steps;
    RETURN_IF_ERROR(WriteSplits({starts.get(), static_cast<size_t>(rows)}, outer));
    ASSIGN_OR_RETURN(Tensor * inner, ctx_.AllocateOutput(output(slot, 2), dtype, Shape{steps + 1}));
    const int64_t values = sizes(slot)[n_].values;
    compute::Scratch<int64_t> ends(ctx_.work(), steps + 1);
    if (!ends) return compute::OutOfScratch();
    ends[0] = 0;
    ends[steps] = values;
    for (int64_t e = 0; e < n_; ++e) InnerStarts(e, slot, ends.get());
    return WriteSplits({ends.get(), static_cast<size_t>(steps + 1)}, inner);
  }

  void InnerStarts(int64_t e, int slot, int64_t* starts) {
    const ListSize& size = sizes(slot)[e];
    int64_t step = size.steps, at = size.values;
    FeatureListReader reader(found(e, slot));
    std::string_view feature;
    EncodedList values;
    while (reader.Next(&feature) && ReadFeature(feature, &values)) {
      starts[step++] = at;
      at += CountValues(values);
    }
  }

  void MakeSink(int slot, Tensor* out) {
    sink_store_.emplace_back(ctx_.allocator(), *out);
    sinks_[static_cast<size_t>(slot)] = &sink_store_.back();
  }

  Status Put(int64_t e) {
    for (int slot = 0; slot < width_; ++slot) RETURN_IF_ERROR(PutList(e, slot));
    return OkStatus();
  }

  Status PutList(int64_t e, int slot) {
    const int64_t each =
        is_dense(slot) && n_ > 0 ? ctx_.output(output(slot, 0)).num_elements() / n_ : 0;
    int64_t at = is_dense(slot) ? e * each : sizes(slot)[e].values;
    FeatureListReader reader(found(e, slot));
    std::string_view feature;
    EncodedList values;
    for (int64_t step = 0; reader.Next(&feature) && ReadFeature(feature, &values); ++step) {
      Status status = sink(slot).Put(values, at);
      if (status.code() == Code::kInvalidArgument) return from_.words.NotAList(e, key(slot), step);
      RETURN_IF_ERROR(status);
      const int64_t count = CountValues(values);
      if (is_sparse(slot)) PutIndices(e, slot, step, at, count);
      at += count;
    }
    if (is_dense(slot)) sink(slot).Clear(at, (e + 1) * each - at);
    return OkStatus();
  }

  void PutIndices(int64_t e, int slot, int64_t step, int64_t at, int64_t count) {
    const int rank = from_.is_single ? 2 : 3;
    auto* indices = ctx_.output(output(slot, 0)).mutable_data<int64_t>() + at * rank;
    for (int64_t i = 0; i < count; ++i) {
      if (!from_.is_single) *indices++ = e;
      *indices++ = step;
      *indices++ = i;
    }
  }

  Context& ctx_;
  const ListColumns& lists_;
  const ParsedColumns& columns_;
  const ListTexts& from_;
  const int64_t n_;
  const int width_;
  compute::Scratch<std::string_view> found_;
  compute::Scratch<ListSize> sizes_;
  std::deque<ValueSink> sink_store_;
  std::vector<ValueSink*> sinks_;
  FirstWrongExample error_;
};

}  // namespace

Result<ListColumns> ListColumns::Of(const KernelConstruction& c) {
  ListColumns lists;
  ASSIGN_OR_RETURN(lists.features,
                   ParsedColumns::Of(c, "feature_list_sparse_types", "feature_list_dense_types",
                                     "feature_list_dense_shapes"));
  for (const DenseColumn& column : lists.features.dense) {
    if (column.is_variable) {
      return InvalidArgument("Shape ", column.shape, " is not fully defined");
    }
  }
  return lists;
}

Status ParseLists(Context& ctx, const ListColumns& columns, const ListTexts& from) {
  return ListBatch(ctx, columns, from).Run();
}

}  // namespace thalweg
