// SPDX-License-Identifier: Apache-2.0
#include <thread>

#include "thalweg/data/batching.h"
#include "thalweg/data/mapping.h"
#include "thalweg/ops/data/dataset_kernel.h"

namespace thalweg {
namespace {

// Of a node: whether elements come in the input's order; nothing where the pipeline's options say so.
std::optional<bool> Determinism(const DatasetAttrs& attrs) {
  if (const AttrValue* const value = attrs.all.Find("deterministic"); value != nullptr) {
    const std::string* const text = value->GetIf<std::string>();
    if (text == nullptr || (*text != "true" && *text != "false")) return std::nullopt;
    return *text == "true";
  }
  return attrs.Flag("sloppy", false) ? std::optional<bool>(false) : std::nullopt;
}

Result<DatasetPtr> MakeMapOf(Context& ctx, const DatasetAttrs& attrs, int64_t calls) {
  ASSIGN_OR_RETURN(DatasetPtr input, DatasetOf(ctx.input(0)));
  ASSIGN_OR_RETURN(ElementFunctionPtr function,
                   FunctionArgument(ctx, attrs, "f", input->spec().types));
  return MapDataset(std::move(input), std::move(function), attrs.spec,
                    {.calls = calls, .deterministic = Determinism(attrs)});
}

// How many calls at once; the last input.
Result<int64_t> CallsArgument(Context& ctx, int input) {
  ASSIGN_OR_RETURN(const int64_t calls, IntArgument(ctx, input, "num_parallel_calls"));
  if (calls > 0 || calls == kAutotune) return calls;
  return InvalidArgument("num_parallel_calls must be greater than zero.");
}

Result<DatasetPtr> MakeMap(Context& ctx, const DatasetAttrs& attrs) {
  return MakeMapOf(ctx, attrs, 1);
}

Result<DatasetPtr> MakeParallelMap(Context& ctx, const DatasetAttrs& attrs) {
  ASSIGN_OR_RETURN(const int64_t calls, CallsArgument(ctx, ctx.num_inputs() - 1));
  return MakeMapOf(ctx, attrs, calls);
}

Result<DatasetPtr> MakeMapAndBatch(Context& ctx, const DatasetAttrs& attrs) {
  const int n = ctx.num_inputs();
  ASSIGN_OR_RETURN(const int64_t size, IntArgument(ctx, n - 3, "batch_size"));
  ASSIGN_OR_RETURN(const int64_t calls, CallsArgument(ctx, n - 2));
  ASSIGN_OR_RETURN(const bool drop, BoolArgument(ctx, n - 1, "drop_remainder"));
  DatasetAttrs rows = attrs;
  for (PartialShape& shape : rows.spec.shapes) {
    if (!shape.known_rank()) continue;
    if (shape.rank() == 0) {
      return InvalidArgument("a batch has at least one dimension, output_shapes says []");
    }
    Dims dims = shape.dims();
    dims.erase(0);
    shape = PartialShape(std::move(dims));
  }
  ASSIGN_OR_RETURN(DatasetPtr mapped, MakeMapOf(ctx, rows, calls));
  return BatchDataset(std::move(mapped), size, {.drop_remainder = drop}, attrs.spec);
}

Result<DatasetPtr> MakeFilter(Context& ctx, const DatasetAttrs& attrs) {
  ASSIGN_OR_RETURN(DatasetPtr input, DatasetOf(ctx.input(0)));
  ASSIGN_OR_RETURN(ElementFunctionPtr predicate,
                   FunctionArgument(ctx, attrs, "predicate", input->spec().types));
  return FilterDataset(std::move(input), std::move(predicate));
}

Result<DatasetPtr> MakeTakeWhile(Context& ctx, const DatasetAttrs& attrs) {
  ASSIGN_OR_RETURN(DatasetPtr input, DatasetOf(ctx.input(0)));
  ASSIGN_OR_RETURN(ElementFunctionPtr predicate,
                   FunctionArgument(ctx, attrs, "predicate", input->spec().types));
  return TakeWhileDataset(std::move(input), std::move(predicate));
}

Result<DatasetPtr> MakeScan(Context& ctx, const DatasetAttrs& attrs) {
  ASSIGN_OR_RETURN(DatasetPtr input, DatasetOf(ctx.input(0)));
  const int end = attrs.functions.empty() ? 1 : attrs.functions.begin()->second.begin;
  Element state;
  std::vector<DType> types;
  for (int i = 1; i < end; ++i) {
    state.push_back(ctx.input(i));
    types.push_back(ctx.input(i).dtype());
  }
  const std::vector<DType>& elements = input->spec().types;
  types.insert(types.end(), elements.begin(), elements.end());
  ASSIGN_OR_RETURN(ElementFunctionPtr function,
                   FunctionArgument(ctx, attrs, "f", std::move(types)));
  return ScanDataset(std::move(input), std::move(state), std::move(function), attrs.spec,
                     attrs.Flag("preserve_cardinality", false));
}

Result<DatasetPtr> MakeInterleaveOf(Context& ctx, const DatasetAttrs& attrs,
                                    const InterleaveOptions& options) {
  ASSIGN_OR_RETURN(DatasetPtr input, DatasetOf(ctx.input(0)));
  ASSIGN_OR_RETURN(ElementFunctionPtr function,
                   FunctionArgument(ctx, attrs, "f", input->spec().types));
  return InterleaveDataset(std::move(input), std::move(function), attrs.spec, options);
}

Result<DatasetPtr> MakeFlatMap(Context& ctx, const DatasetAttrs& attrs) {
  return MakeInterleaveOf(ctx, attrs, {});
}

// TensorFlow's choice of a cycle that is left open depends on the machine, not on the session.
int64_t Processors() { return std::max<int64_t>(std::thread::hardware_concurrency(), 1); }

// From `first` on: cycle_length, block_length. `open`: how long a cycle is that is left open.
Result<InterleaveOptions> CycleArguments(Context& ctx, int first, int64_t open = Processors()) {
  InterleaveOptions options;
  ASSIGN_OR_RETURN(options.cycle_length, IntArgument(ctx, first, "cycle_length"));
  ASSIGN_OR_RETURN(options.block_length, IntArgument(ctx, first + 1, "block_length"));
  if (options.cycle_length == kAutotune) options.cycle_length = open;
  return options;
}

Result<DatasetPtr> MakeInterleave(Context& ctx, const DatasetAttrs& attrs) {
  ASSIGN_OR_RETURN(const InterleaveOptions options, CycleArguments(ctx, ctx.num_inputs() - 2));
  return MakeInterleaveOf(ctx, attrs, options);
}

// Each member of the cycle has a block ready, at least two elements; more where that was too few and
// the graph leaves open how many make elements at once.
Result<DatasetPtr> MakeBuffered(Context& ctx, const DatasetAttrs& attrs, InterleaveOptions options,
                                int64_t buffer, bool is_open = false) {
  if (!options.deterministic.has_value()) options.deterministic = Determinism(attrs);
  const int64_t block = std::max<int64_t>(options.block_length, 2);
  options.buffer = buffer > 0 ? buffer : is_open ? -block : block;
  return MakeInterleaveOf(ctx, attrs, options);
}

Result<DatasetPtr> MakeParallelInterleave(Context& ctx, const DatasetAttrs& attrs) {
  const int n = ctx.num_inputs();
  ASSIGN_OR_RETURN(const int64_t buffer, IntArgument(ctx, n - 2, "buffer_output_elements"));
  ASSIGN_OR_RETURN(InterleaveOptions options, CycleArguments(ctx, n - 5));
  ASSIGN_OR_RETURN(const bool sloppy, BoolArgument(ctx, n - 3, "sloppy"));
  if (sloppy) options.deterministic = false;
  return MakeBuffered(ctx, attrs, options, buffer);
}

// The same, and the last input says how many members make elements at once. `is_old`: as 1.15 takes a
// cycle that is left open; later releases leave two in three processors to what is made in advance.
Result<InterleaveOptions> ParallelCycle(Context& ctx, int first, bool is_old) {
  ASSIGN_OR_RETURN(const int64_t calls, CallsArgument(ctx, ctx.num_inputs() - 1));
  int64_t open = Processors();
  if (!is_old) open = calls == kAutotune ? (open + 2) / 3 : std::min(calls, open);
  ASSIGN_OR_RETURN(const InterleaveOptions options, CycleArguments(ctx, first, open));
  if (calls <= options.cycle_length) return options;
  return InvalidArgument(
      "If `cycle_length` is set to a fixed value, `num_parallel_calls` must be either "
      "`tf.data.AUTOTUNE` or a value less than or equal to `cycle_length`. However, "
      "`num_parallel_calls` is ",
      calls, " and `cycle_length` is ", options.cycle_length);
}

template <bool is_old>
Result<DatasetPtr> MakeParallelInterleaveV2(Context& ctx, const DatasetAttrs& attrs) {
  const int n = ctx.num_inputs();
  ASSIGN_OR_RETURN(const InterleaveOptions options, ParallelCycle(ctx, n - 3, is_old));
  ASSIGN_OR_RETURN(const int64_t calls, CallsArgument(ctx, n - 1));
  return MakeBuffered(ctx, attrs, options, 0, calls == kAutotune);
}

Result<DatasetPtr> MakeParallelInterleaveV4(Context& ctx, const DatasetAttrs& attrs) {
  const int n = ctx.num_inputs();
  ASSIGN_OR_RETURN(const int64_t buffer, IntArgument(ctx, n - 3, "buffer_output_elements"));
  ASSIGN_OR_RETURN(const InterleaveOptions options, ParallelCycle(ctx, n - 5, false));
  ASSIGN_OR_RETURN(const int64_t calls, CallsArgument(ctx, n - 1));
  return MakeBuffered(ctx, attrs, options, buffer, calls == kAutotune);
}

// How many elements of the input are made in advance, the last input, is left to the cycle.
Result<DatasetPtr> MakeLegacyInterleave(Context& ctx, const DatasetAttrs& attrs) {
  const int n = ctx.num_inputs();
  ASSIGN_OR_RETURN(const int64_t buffer, IntArgument(ctx, n - 2, "buffer_output_elements"));
  ASSIGN_OR_RETURN(const InterleaveOptions options, CycleArguments(ctx, n - 4));
  return MakeBuffered(ctx, attrs, options, buffer);
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(dataset_mapping, cpu) {
  AddDataset<MakeMap>(registry, "MapDataset");
  AddDataset<MakeMap>(registry, "ExperimentalMapDataset");
  AddDataset<MakeParallelMap>(registry, "ParallelMapDataset");
  AddDataset<MakeParallelMap>(registry, "ParallelMapDatasetV2");
  AddDataset<MakeFilter>(registry, "FilterDataset");
  AddDataset<MakeFilter>(registry, "ParallelFilterDataset");
  AddDataset<MakeTakeWhile>(registry, "TakeWhileDataset");
  AddDataset<MakeTakeWhile>(registry, "ExperimentalTakeWhileDataset");
  AddDataset<MakeScan>(registry, "ScanDataset");
  AddDataset<MakeScan>(registry, "ExperimentalScanDataset");
  AddDataset<MakeFlatMap>(registry, "FlatMapDataset");
  AddDataset<MakeInterleave>(registry, "InterleaveDataset");
  AddDataset<MakeParallelInterleave>(registry, "ParallelInterleaveDataset");
  AddDataset<MakeParallelInterleave>(registry, "ExperimentalParallelInterleaveDataset");
  AddDataset<MakeParallelInterleaveV2<true>>(registry, "ParallelInterleaveDatasetV2");
  AddDataset<MakeParallelInterleaveV2<false>>(registry, "ParallelInterleaveDatasetV3");
  AddDataset<MakeParallelInterleaveV4>(registry, "ParallelInterleaveDatasetV4");
  AddDataset<MakeLegacyInterleave>(registry, "LegacyParallelInterleaveDatasetV2");
  AddDataset<MakeMapAndBatch>(registry, "MapAndBatchDataset");
  AddDataset<MakeMapAndBatch>(registry, "ExperimentalMapAndBatchDataset");
}
