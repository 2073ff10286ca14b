// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <type_traits>

#include "thalweg/data/cache.h"
#include "thalweg/data/file_cache.h"
#include "thalweg/data/mapping.h"
#include "thalweg/data/prefetch.h"
#include "thalweg/data/shuffle.h"
#include "thalweg/ops/data/dataset_kernel.h"
#include "thalweg/proto/wire_reader.h"

namespace thalweg {
namespace {

template <class T>
Tensor HandleOf(RefPtr<T> resource, std::string_view type_name) {
  return Tensor::Scalar(ResourceHandle({.name = "anonymous", .type_name = std::string(type_name)},
                                       RefPtr<Resource>::Adopt(resource.release())));
}

RefPtr<ShuffleSeeds> NewSeeds(int64_t seed, int64_t seed2, bool reshuffle) {
  return RefPtr<ShuffleSeeds>::Adopt(
      std::make_unique<ShuffleSeeds>(seed, seed2, reshuffle).release());
}

// What the resource of input i is, or nothing where it is a dummy.
template <class T>
RefPtr<T> Given(const Context& ctx, int i) {
  const Tensor& handle = ctx.input(i);
  if (handle.dtype() != DType::kResource || handle.num_elements() != 1) return {};
  return RefPtr<T>::Share(dynamic_cast<T*>(handle.scalar<ResourceHandle>().resource()));
}

Result<RefPtr<ShuffleSeeds>> SeedArguments(const Context& ctx, const DatasetAttrs& attrs, int i) {
  ASSIGN_OR_RETURN(const int64_t seed, IntArgument(ctx, i, "seed"));
  ASSIGN_OR_RETURN(const int64_t seed2, IntArgument(ctx, i + 1, "seed2"));
  return NewSeeds(seed, seed2, attrs.Flag("reshuffle_each_iteration", true));
}

Result<DatasetPtr> ShuffleOf(Context& ctx, int64_t count, RefPtr<ShuffleSeeds> seeds) {
  ASSIGN_OR_RETURN(DatasetPtr input, DatasetOf(ctx.input(0)));
  ASSIGN_OR_RETURN(const int64_t buffer, IntArgument(ctx, 1, "buffer_size"));
  return ShuffleDataset(std::move(input),
                        {.buffer = buffer, .count = count, .seeds = std::move(seeds)});
}

Result<DatasetPtr> MakeShuffle(Context& ctx, const DatasetAttrs& attrs) {
  ASSIGN_OR_RETURN(RefPtr<ShuffleSeeds> seeds, SeedArguments(ctx, attrs, 2));
  return ShuffleOf(ctx, 1, std::move(seeds));
}

Result<DatasetPtr> MakeShuffleV2(Context& ctx, const DatasetAttrs&) {
  RefPtr<ShuffleSeeds> seeds = Given<ShuffleSeeds>(ctx, 2);
  if (!seeds) seeds = NewSeeds(0, 0, true);
  return ShuffleOf(ctx, 1, std::move(seeds));
}

Result<DatasetPtr> MakeShuffleV3(Context& ctx, const DatasetAttrs& attrs) {
  RefPtr<ShuffleSeeds> seeds = Given<ShuffleSeeds>(ctx, 4);
  if (!seeds) {
    ASSIGN_OR_RETURN(seeds, SeedArguments(ctx, attrs, 2));
  }
  return ShuffleOf(ctx, 1, std::move(seeds));
}

Result<DatasetPtr> MakeShuffleAndRepeat(Context& ctx, const DatasetAttrs& attrs) {
  ASSIGN_OR_RETURN(const int64_t count, IntArgument(ctx, 4, "count"));
  RefPtr<ShuffleSeeds> seeds;
  if (ctx.num_inputs() > 5) seeds = Given<ShuffleSeeds>(ctx, 5);
  if (!seeds) {
    ASSIGN_OR_RETURN(seeds, SeedArguments(ctx, attrs, 2));
  }
  return ShuffleOf(ctx, count, std::move(seeds));
}

Status SeedGenerator(Context& ctx) {
  ASSIGN_OR_RETURN(const int64_t seed, IntArgument(ctx, 0, "seed"));
  ASSIGN_OR_RETURN(const int64_t seed2, IntArgument(ctx, 1, "seed2"));
  ASSIGN_OR_RETURN(const bool reshuffle, BoolArgument(ctx, 2, "reshuffle"));
  ctx.set_output(0, HandleOf(NewSeeds(seed, seed2, reshuffle), "SeedGenerator"));
  ASSIGN_OR_RETURN(Tensor deleter, Tensor::AllocateHost(DType::kVariant, Shape()));
  ctx.set_output(1, std::move(deleter));
  return OkStatus();
}

Status AnonymousMemoryCache(Context& ctx) {
  ctx.set_output(0, HandleOf(RefPtr<MemoryCache>::Adopt(std::make_unique<MemoryCache>().release()),
                             "MemoryCache"));
  ASSIGN_OR_RETURN(Tensor deleter, Tensor::AllocateHost(DType::kVariant, Shape()));
  ctx.set_output(1, std::move(deleter));
  return OkStatus();
}

Status Dummy(Context& ctx) {
  ctx.set_output(0, Tensor::Scalar(ResourceHandle({.name = "dummy"}, {})));
  return OkStatus();
}

Result<DatasetPtr> MakePrefetch(Context& ctx, const DatasetAttrs&) {
  ASSIGN_OR_RETURN(DatasetPtr input, DatasetOf(ctx.input(0)));
  ASSIGN_OR_RETURN(const int64_t buffer, IntArgument(ctx, 1, "buffer_size"));
  if (buffer < 0 && buffer != kAutoBuffer) {
    return InvalidArgument("buffer_size must be >= 0 or set buffer_size to be ", kAutoBuffer,
                           " for auto-tuning");
  }
  return PrefetchDataset(std::move(input), buffer);
}

// In files, or in memory, as long as the dataset lives. V2 brings the memory, so that datasets made
// of one graph share it.
Result<DatasetPtr> MakeCache(Context& ctx, const DatasetAttrs&) {
  ASSIGN_OR_RETURN(DatasetPtr input, DatasetOf(ctx.input(0)));
  ASSIGN_OR_RETURN(const std::string file, TextArgument(ctx, 1, "filename"));
  if (!file.empty()) return FileCacheDataset(std::move(input), file);
  RefPtr<MemoryCache> memory;
  if (ctx.num_inputs() > 2) memory = Given<MemoryCache>(ctx, 2);
  if (!memory) memory = RefPtr<MemoryCache>::Adopt(std::make_unique<MemoryCache>().release());
  return CacheDataset(std::move(input), std::move(memory));
}

bool NamesUnordered(const Tensor& optimizations) {
  const auto names = optimizations.flat<std::string>();
  return std::find(names.begin(), names.end(), "make_sloppy") != names.end();
}

// Only the order of elements is of interest in what TensorFlow's optimizer does.
Result<DatasetPtr> MakeOptimized(Context& ctx, const DatasetAttrs&) {
  ASSIGN_OR_RETURN(DatasetPtr input, DatasetOf(ctx.input(0)));
  return NamesUnordered(ctx.input(1)) ? OptionsDataset(std::move(input), {.deterministic = false})
                                      : input;
}

// Field `number` of a message, where it has one; InvalidArgument where the bytes are no message.
template <class T>
Status FindField(std::string_view bytes, uint32_t number, std::optional<T>* found) {
  WireReader reader(bytes);
  uint32_t tag = 0;
  while (reader.ReadTag(&tag)) {
    if (WireFieldNumber(tag) != number) {
      if (!reader.Skip(tag)) break;
      continue;
    }
    T value{};
    bool is_read = false;
    if constexpr (std::is_same_v<T, uint64_t>) {
      is_read = WireTypeOf(tag) == WireType::kVarint && reader.ReadVarint(&value);
    } else {
      is_read = WireTypeOf(tag) == WireType::kLengthDelimited && reader.ReadBytes(&value);
    }
    if (!is_read) break;
    *found = value;
  }
  if (reader.AtEnd()) return OkStatus();
  return InvalidArgument("serialized_options is no message of options: wrong at byte ",
                         reader.offset());
}

Result<StageOptions> OptionsOf(std::string_view bytes) {
  constexpr uint32_t kDeterministic = 1, kAutotune = 7, kEnabled = 1;
  std::optional<uint64_t> deterministic, enabled;
  std::optional<std::string_view> autotune;
  RETURN_IF_ERROR(FindField(bytes, kDeterministic, &deterministic));
  RETURN_IF_ERROR(FindField(bytes, kAutotune, &autotune));
  RETURN_IF_ERROR(FindField(autotune.value_or(""), kEnabled, &enabled));
  return StageOptions{.deterministic = deterministic.value_or(1) != 0,
                      .autotune = enabled.value_or(1) != 0};
}

// A serialized message of options: its first field says whether the order is fixed, the first of
// its seventh whether the pipeline is tuned.
Result<DatasetPtr> MakeWithOptions(Context& ctx, const DatasetAttrs& attrs) {
  ASSIGN_OR_RETURN(DatasetPtr input, DatasetOf(ctx.input(0)));
  const AttrValue* const value = attrs.all.Find("serialized_options");
  const std::string* const bytes = value != nullptr ? value->GetIf<std::string>() : nullptr;
  if (bytes == nullptr) return input;
  ASSIGN_OR_RETURN(const StageOptions options, OptionsOf(*bytes));
  return options.deterministic && options.autotune ? input
                                                   : OptionsDataset(std::move(input), options);
}

Status DeleteAnonymous(Context&) { return OkStatus(); }

// What tunes TensorFlow's pipelines tells nothing to ours, which use the session's threads.
Result<DatasetPtr> MakeSame(Context& ctx, const DatasetAttrs&) { return DatasetOf(ctx.input(0)); }

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(dataset_order, cpu) {
  AddDataset<MakeShuffle>(registry, "ShuffleDataset");
  AddDataset<MakeShuffleV2>(registry, "ShuffleDatasetV2");
  AddDataset<MakeShuffleV3>(registry, "ShuffleDatasetV3");
  AddDataset<MakeShuffleAndRepeat>(registry, "ShuffleAndRepeatDataset");
  AddDataset<MakeShuffleAndRepeat>(registry, "ShuffleAndRepeatDatasetV2");
  AddDataset<MakePrefetch>(registry, "PrefetchDataset");
  AddDataset<MakeCache>(registry, "CacheDataset");
  AddDataset<MakeCache>(registry, "CacheDatasetV2");
  for (const char* op : {"ModelDataset", "FinalizeDataset", "MaxIntraOpParallelismDataset",
                         "ExperimentalMaxIntraOpParallelismDataset", "PrivateThreadPoolDataset",
                         "ExperimentalPrivateThreadPoolDataset", "BytesProducedStatsDataset",
                         "ExperimentalBytesProducedStatsDataset", "LatencyStatsDataset",
                         "ExperimentalLatencyStatsDataset", "NonSerializableDataset",
                         "ExperimentalNonSerializableDataset", "ChooseFastestDataset",
                         "ExperimentalChooseFastestDataset"}) {
    AddDataset<MakeSame>(registry, op);
  }
  AddDataset<MakeOptimized>(registry, "OptimizeDataset");
  AddDataset<MakeOptimized>(registry, "OptimizeDatasetV2");
  AddDataset<MakeWithOptions>(registry, "OptionsDataset");
  for (const char* op : {"DeleteMemoryCache", "DeleteSeedGenerator"}) {
    registry.AddFunction<DeleteAnonymous>(op, kCpu);
  }
  registry.AddFunction<SeedGenerator>("AnonymousSeedGenerator", kCpu);
  registry.AddFunction<Dummy>("DummySeedGenerator", kCpu);
  registry.AddFunction<AnonymousMemoryCache>("AnonymousMemoryCache", kCpu);
  registry.AddFunction<Dummy>("DummyMemoryCache", kCpu);
}
