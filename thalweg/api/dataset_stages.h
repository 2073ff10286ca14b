// SPDX-License-Identifier: Apache-2.0
// Thalweg's input pipelines for C++: how the stages are made. A part of dataset.h, which programs
// include, and which has the example.
//
// Ownership: as dataset.h says.
// Threads: as dataset.h says.
// Errors: as dataset.h says.
#pragma once

#include "thalweg/dataset.h"

namespace tw {
namespace internal {

inline Outputs AsOutputs(Outputs results) { return results; }
inline Outputs AsOutputs(const Output& result) { return {result}; }

template <size_t>
using Component = Output;

// Whether F takes as many components as there are Is, one by one.
template <class F, size_t... Is>
constexpr bool Takes(std::index_sequence<Is...>) {
  return std::is_invocable_v<F&, Component<Is>...>;
}
template <class F, size_t... Is>
decltype(auto) CallWith(F& function, const Outputs& element, std::index_sequence<Is...>) {
  return function(element[Is]...);
}

// The function as one of components: it takes Outputs, or 1 to kMost components one by one.
template <size_t N = 1, class F>
decltype(auto) CallOf(F& function, const Outputs& element) {
  constexpr size_t kMost = 16;
  if constexpr (std::is_invocable_v<F&, const Outputs&>) {
    return function(element);
  } else if constexpr (Takes<F>(std::make_index_sequence<N>())) {
    if (element.size() != N) {
      throw Error(kInvalidArgument, "the function takes " + std::to_string(N) +
                                        " components, an element has " +
                                        std::to_string(element.size()));
    }
    return CallWith(function, element, std::make_index_sequence<N>());
  } else {
    static_assert(N < kMost, "a function of elements takes tw::Outputs or tw::Output, tw::Output");
    return CallOf<N + 1>(function, element);
  }
}

inline Outputs Joined(Outputs first, const Outputs& then) {
  first.insert(first.end(), then.begin(), then.end());
  return first;
}

// One stage while it is made: what tw_dataset_... add to the graph is of the line of the program
// that calls. The graph keeps the builder.
class StageBuilder {
 public:
  StageBuilder(Graph& graph, const char* stage, const Site& site)
      : graph_(graph), at_(graph, stage, site), c_(tw_dataset_builder_new(graph.c())) {
    graph.Keep({c_, &tw_dataset_builder_free});
    tw_dataset_builder_site(c_, site.text.c_str());
    tw_dataset_builder_device(c_, graph.device().c_str());
  }
  operator TwDatasetBuilder*() const { return c_; }  // NOLINT: it is one
  // The dataset; throws where the stage, or what it takes of the graph, could not be made.
  Dataset Made(const TwDataset* made) const {
    Check();
    return Dataset(graph_, made);
  }
  void Check() const {
    at_.Check();
    StatusHolder status;
    if (tw_dataset_builder_check(c_, status.c) == TW_OK) return;
    const Status error = status.Take();
    throw Error(error.code(), error.message());
  }
  [[noreturn]] void Fail(const std::string& why) const { at_.Fail(kInvalidArgument, why); }
  // What `call` makes of the components of an element, behind the values of `initial`: in the body
  // of a function, which the stage ends.
  template <class Call>
  auto Function(const Dataset& dataset, const Outputs& initial, const Call& call) const {
    const std::vector<TwOutput> state = Graph::Unwrap(initial);
    std::vector<TwOutput> components(state.size() + dataset.elements().size());
    TwGraph* const body = tw_dataset_begin_function(
        c_, dataset.c(), state.data(), static_cast<int32_t>(state.size()), components.data());
    Check();
    const Graph::Inside inside(&graph_, body);
    Outputs given;
    for (const TwOutput& component : components) given.push_back({&graph_, component});
    try {
      return call(given);
    } catch (const Error& error) {
      at_.Fail(error.code(), error.message());
    }
  }

 private:
  Graph& graph_;
  const AtSite at_;
  TwDatasetBuilder* const c_;
};

// What a function gives of an element, as C takes it.
template <class F>
std::vector<TwOutput> Results(const StageBuilder& stage, const Dataset& dataset,
                              const Outputs& initial, F& function) {
  return stage.Function(dataset, initial, [&](const Outputs& element) {
    return Graph::Unwrap(AsOutputs(CallOf(function, element)));
  });
}

inline std::vector<const TwDataset*> Unwrap(const std::vector<Dataset>& datasets) {
  std::vector<const TwDataset*> all;
  for (const Dataset& dataset : datasets) all.push_back(dataset.c());
  return all;
}

inline std::vector<TwTensorSpec> Unwrap(const std::vector<TensorSpec>& specs) {
  std::vector<TwTensorSpec> all;
  for (const TensorSpec& spec : specs) {
    all.push_back({static_cast<TwDataType>(spec.dtype), spec.rank(), spec.shape.data()});
  }
  return all;
}

inline TwFileOptions Unwrap(const FileOptions& options) {
  return {sizeof(TwFileOptions), options.compression.c_str(), options.buffer_size};
}

inline const int64_t* Unwrap(const std::optional<int64_t>& seed) {
  return seed.has_value() ? &*seed : nullptr;
}

}  // namespace internal

inline Dataset::Dataset(Graph& graph, const TwDataset* made)
    : c_(made), variant_(&graph, tw_dataset_variant(made)) {
  for (int32_t i = 0; i < tw_dataset_num_components(made); ++i) {
    TwTensorSpec one{};
    tw_dataset_component(made, i, &one);
    TensorSpec spec{static_cast<DataType>(one.dtype)};
    spec.ranked = one.rank >= 0;
    if (spec.ranked) spec.shape.assign(one.dims, one.dims + one.rank);
    elements_.push_back(std::move(spec));
  }
}

inline Dataset::Dataset(const Output& variant, const Specs& elements, const Site& site)
    : Dataset(FromVariant(internal::GraphOf(variant), "Dataset", variant, elements, site)) {}

// ---- sources ----

inline Dataset Dataset::FromTensors(const Outputs& components, const Site& site) {
  if (components.empty()) throw Error(kInvalidArgument, "FromTensors: no components");
  const internal::StageBuilder stage(internal::GraphOf(components[0]), "FromTensors", site);
  const std::vector<TwOutput> given = Graph::Unwrap(components);
  return stage.Made(
      tw_dataset_from_tensors(stage, given.data(), static_cast<int32_t>(given.size())));
}

inline Dataset Dataset::FromTensorSlices(const Outputs& components, const Site& site) {
  if (components.empty()) throw Error(kInvalidArgument, "FromTensorSlices: no components");
  const internal::StageBuilder stage(internal::GraphOf(components[0]), "FromTensorSlices", site);
  const std::vector<TwOutput> given = Graph::Unwrap(components);
  return stage.Made(
      tw_dataset_from_tensor_slices(stage, given.data(), static_cast<int32_t>(given.size())));
}

inline Dataset Dataset::Range(Graph& graph, const Count& stop, const Site& site) {
  return Range(graph, 0, stop, 1, site);
}

inline Dataset Dataset::Range(Graph& graph, const Count& start, const Count& stop,
                              const Count& step, const Site& site) {
  const internal::StageBuilder stage(graph, "Range", site);
  return stage.Made(tw_dataset_range(stage, start.c(), stop.c(), step.c()));
}

inline Dataset Dataset::ListFiles(Graph& graph, const std::string& pattern, bool shuffle,
                                  std::optional<int64_t> seed, const Site& site) {
  const internal::StageBuilder stage(graph, "ListFiles", site);
  return stage.Made(
      tw_dataset_list_files(stage, pattern.c_str(), shuffle ? 1 : 0, internal::Unwrap(seed)));
}

inline Dataset Dataset::TextLines(const Output& files, const FileOptions& options,
                                  const Site& site) {
  const internal::StageBuilder stage(internal::GraphOf(files), "TextLines", site);
  const TwFileOptions reading = internal::Unwrap(options);
  return stage.Made(tw_dataset_text_lines(stage, files.c(), &reading));
}

inline Dataset Dataset::TFRecords(const Output& files, const FileOptions& options,
                                  const Site& site) {
  const internal::StageBuilder stage(internal::GraphOf(files), "TFRecords", site);
  const TwFileOptions reading = internal::Unwrap(options);
  return stage.Made(tw_dataset_tf_records(stage, files.c(), &reading));
}

inline Dataset Dataset::FixedLengthRecords(const Output& files, const Count& record_bytes,
                                           const Count& header_bytes, const Count& footer_bytes,
                                           const FileOptions& options, const Site& site) {
  const internal::StageBuilder stage(internal::GraphOf(files), "FixedLengthRecords", site);
  const TwFileOptions reading = internal::Unwrap(options);
  return stage.Made(tw_dataset_fixed_length_records(stage, files.c(), record_bytes.c(),
                                                    header_bytes.c(), footer_bytes.c(), &reading));
}

inline Dataset Dataset::Csv(const Output& files, const std::vector<CsvField>& fields,
                            const CsvOptions& options, const Site& site) {
  const internal::StageBuilder stage(internal::GraphOf(files), "Csv", site);
  const TwFileOptions reading = internal::Unwrap(options.files);
  TwCsvOptions csv{};
  csv.struct_size = sizeof csv;
  csv.files = &reading;
  csv.header = options.header ? 1 : 0;
  csv.delimiter = options.delimiter;
  csv.no_quotes = options.quotes ? 0 : 1;
  csv.missing = options.missing.c_str();
  csv.select_columns = options.select_columns.data();
  csv.num_select_columns = static_cast<int32_t>(options.select_columns.size());
  std::vector<TwTensor*> defaults;
  for (const CsvField& field : fields) defaults.push_back(field.otherwise().c());
  return stage.Made(tw_dataset_csv(stage, files.c(), defaults.data(),
                                   static_cast<int32_t>(defaults.size()), &csv));
}

inline Dataset Dataset::FromVariant(Graph& graph, const char* name, const Output& variant,
                                    const Specs& elements, const Site& site) {
  const internal::StageBuilder stage(graph, name, site);
  const std::vector<TwTensorSpec> specs = internal::Unwrap(elements);
  return stage.Made(
      tw_dataset_from_output(stage, variant.c(), specs.data(), static_cast<int32_t>(specs.size())));
}

inline Dataset Dataset::FromOp(Graph& graph, const std::string& op, const Outputs& inputs,
                               const Specs& elements, const std::vector<Attr>& attrs,
                               const Site& site) {
  const internal::AtSite at(graph, op, site);
  const Output variant = graph.Op(op, inputs, internal::WithSpecs(attrs, elements));
  return FromVariant(graph, op.c_str(), variant, elements, site);
}

// ---- which elements ----

inline Dataset Dataset::Apply(const std::string& op, const Outputs& inputs, const Specs& elements,
                              const std::vector<Attr>& attrs, const Site& site) const {
  return FromOp(graph(), op, internal::Joined({variant_}, inputs), elements, attrs, site);
}

inline Dataset Dataset::Take(const Count& count, const Site& site) const {
  const internal::StageBuilder stage(graph(), "Take", site);
  return stage.Made(tw_dataset_take(stage, c(), count.c()));
}

inline Dataset Dataset::Skip(const Count& count, const Site& site) const {
  const internal::StageBuilder stage(graph(), "Skip", site);
  return stage.Made(tw_dataset_skip(stage, c(), count.c()));
}

inline Dataset Dataset::Repeat(const Count& count, const Site& site) const {
  const internal::StageBuilder stage(graph(), "Repeat", site);
  return stage.Made(tw_dataset_repeat(stage, c(), count.c()));
}

inline Dataset Dataset::Shard(const Count& shards, const Count& index, const Site& site) const {
  const internal::StageBuilder stage(graph(), "Shard", site);
  return stage.Made(tw_dataset_shard(stage, c(), shards.c(), index.c()));
}

template <class F>
Dataset Dataset::Filter(F&& predicate, const Site& site) const {
  const internal::StageBuilder stage(graph(), "Filter", site);
  const std::vector<TwOutput> results = internal::Results(stage, *this, {}, predicate);
  if (results.size() != 1) stage.Fail("the function must give one bool scalar");
  return stage.Made(tw_dataset_filter(stage, c(), results[0]));
}

inline Dataset Dataset::IgnoreErrors(const Site& site) const {
  const internal::StageBuilder stage(graph(), "IgnoreErrors", site);
  return stage.Made(tw_dataset_ignore_errors(stage, c()));
}

inline Dataset Dataset::Concatenate(const Dataset& more, const Site& site) const {
  const internal::StageBuilder stage(graph(), "Concatenate", site);
  return stage.Made(tw_dataset_concatenate(stage, c(), more.c()));
}

inline Dataset Dataset::Zip(const std::vector<Dataset>& datasets, const Site& site) {
  if (datasets.empty()) throw Error(kInvalidArgument, "Zip: no datasets");
  const internal::StageBuilder stage(datasets[0].graph(), "Zip", site);
  const std::vector<const TwDataset*> given = internal::Unwrap(datasets);
  return stage.Made(tw_dataset_zip(stage, given.data(), static_cast<int32_t>(given.size())));
}

inline Dataset Dataset::Enumerate(int64_t start, const Site& site) const {
  const internal::StageBuilder stage(graph(), "Enumerate", site);
  return stage.Made(tw_dataset_enumerate(stage, c(), start));
}

// ---- in which order, and when ----

inline Dataset Dataset::Shuffle(const Count& buffer_size, std::optional<int64_t> seed,
                                bool reshuffle_each_iteration, const Site& site) const {
  const internal::StageBuilder stage(graph(), "Shuffle", site);
  return stage.Made(tw_dataset_shuffle(stage, c(), buffer_size.c(), internal::Unwrap(seed),
                                       reshuffle_each_iteration ? 1 : 0));
}

inline Dataset Dataset::Cache(const Site& site) const {
  const internal::StageBuilder stage(graph(), "Cache", site);
  return stage.Made(tw_dataset_cache(stage, c()));
}

inline Dataset Dataset::Prefetch(const Count& buffer_size, const Site& site) const {
  const internal::StageBuilder stage(graph(), "Prefetch", site);
  return stage.Made(tw_dataset_prefetch(stage, c(), buffer_size.c()));
}

// ---- what becomes of them ----

template <class F>
Dataset Dataset::Map(F&& function, const Count& parallel_calls, bool deterministic,
                     const Site& site) const {
  const internal::StageBuilder stage(graph(), "Map", site);
  const std::vector<TwOutput> results = internal::Results(stage, *this, {}, function);
  return stage.Made(tw_dataset_map(stage, c(), results.data(), static_cast<int32_t>(results.size()),
                                   parallel_calls.c(), deterministic ? 1 : 0));
}

template <class F>
Dataset Dataset::FlatMap(F&& function, const Site& site) const {
  const internal::StageBuilder stage(graph(), "FlatMap", site);
  const Dataset inner = stage.Function(
      *this, {}, [&](const Outputs& element) { return internal::CallOf(function, element); });
  return stage.Made(tw_dataset_flat_map(stage, c(), inner.c()));
}

template <class F>
Dataset Dataset::Interleave(F&& function, const Count& cycle_length, const Count& block_length,
                            const Count& parallel_calls, const Site& site) const {
  const internal::StageBuilder stage(graph(), "Interleave", site);
  const Dataset inner = stage.Function(
      *this, {}, [&](const Outputs& element) { return internal::CallOf(function, element); });
  return stage.Made(tw_dataset_interleave(stage, c(), inner.c(), cycle_length.c(), block_length.c(),
                                          parallel_calls.c()));
}

template <class F>
Outputs Dataset::Reduce(const Outputs& initial, F&& function, const Site& site) const {
  const internal::StageBuilder stage(graph(), "Reduce", site);
  const std::vector<TwOutput> results = internal::Results(stage, *this, initial, function);
  TwNode* const node =
      tw_dataset_reduce(stage, c(), results.data(), static_cast<int32_t>(results.size()));
  stage.Check();
  Outputs last;
  for (int32_t i = 0; i < tw_node_num_outputs(node); ++i) last.push_back({&graph(), {node, i}});
  return last;
}

// ---- several as one ----

inline Dataset Dataset::Batch(const Count& batch_size, bool drop_remainder,
                              const Site& site) const {
  const internal::StageBuilder stage(graph(), "Batch", site);
  return stage.Made(tw_dataset_batch(stage, c(), batch_size.c(), drop_remainder ? 1 : 0));
}

inline Dataset Dataset::PaddedBatch(const Count& batch_size,
                                    const std::vector<std::vector<int64_t>>& shapes,
                                    const Outputs& values, bool drop_remainder,
                                    const Site& site) const {
  const internal::StageBuilder stage(graph(), "PaddedBatch", site);
  const size_t n = elements_.size();
  if ((!shapes.empty() && shapes.size() != n) || (!values.empty() && values.size() != n)) {
    stage.Fail("an element has " + std::to_string(n) + " components, got " +
               std::to_string(shapes.size()) + " shapes and " + std::to_string(values.size()) +
               " values");
  }
  std::vector<TwTensorSpec> wanted;
  for (const std::vector<int64_t>& shape : shapes) {
    wanted.push_back({0, static_cast<int32_t>(shape.size()), shape.data()});
  }
  const std::vector<TwOutput> around = Graph::Unwrap(values);
  return stage.Made(
      tw_dataset_padded_batch(stage, c(), batch_size.c(), wanted.empty() ? nullptr : wanted.data(),
                              around.empty() ? nullptr : around.data(), drop_remainder ? 1 : 0));
}

inline Dataset Dataset::Unbatch(const Site& site) const {
  const internal::StageBuilder stage(graph(), "Unbatch", site);
  return stage.Made(tw_dataset_unbatch(stage, c()));
}

inline Dataset Dataset::Window(const Count& size, const Count& shift, const Count& stride,
                               bool drop_remainder, const Site& site) const {
  const internal::StageBuilder stage(graph(), "Window", site);
  return stage.Made(
      tw_dataset_window(stage, c(), size.c(), shift.c(), stride.c(), drop_remainder ? 1 : 0));
}

// ---- elements ----

inline Iterator Dataset::MakeOneShotIterator(const Site& site) const {
  const internal::StageBuilder stage(graph(), "MakeOneShotIterator", site);
  const TwIterator made = tw_dataset_make_one_shot_iterator(stage, c());
  stage.Check();
  return {Output(&graph(), made.handle), nullptr, elements_};
}

inline Iterator Dataset::MakeInitializableIterator(const std::string& shared_name,
                                                   const Site& site) const {
  const internal::StageBuilder stage(graph(), "MakeInitializableIterator", site);
  const TwIterator made = tw_dataset_make_initializable_iterator(stage, c(), shared_name.c_str());
  stage.Check();
  return {Output(&graph(), made.handle), made.initializer, elements_};
}

}  // namespace tw
