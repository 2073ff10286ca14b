// SPDX-License-Identifier: Apache-2.0
// Thalweg's input pipelines for C++: how the stages are made. A part of dataset.h, which programs
// include, and which has the example.
//
// Errors: as dataset.h says.
// Ownership: as dataset.h says.
// Threads: as dataset.h says.
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

// A function of elements in the graph's library; `call` gives its results.
template <class Call>
Function ElementFunction(Graph& graph, const AtSite& at, const std::string& name,
                         const std::vector<TensorSpec>& elements, const Call& call) {
  Function made;
  try {
    made = graph.Function("Dataset_" + name, elements, call);
  } catch (const Error& error) {
    at.Fail(error.code(), error.message());
  }
  at.Check();
  return made;
}

// The shapes that both have.
inline std::vector<TensorSpec> Wider(const AtSite& at, std::vector<TensorSpec> a,
                                     const std::vector<TensorSpec>& b) {
  bool same = a.size() == b.size();
  for (size_t i = 0; same && i < a.size(); ++i) same = a[i].dtype == b[i].dtype;
  if (!same) at.Fail(kInvalidArgument, "the elements of both must have the same types");
  for (size_t i = 0; i < a.size(); ++i) {
    a[i].ranked = a[i].ranked && b[i].ranked && a[i].shape.size() == b[i].shape.size();
    for (size_t d = 0; a[i].ranked && d < a[i].shape.size(); ++d) {
      if (a[i].shape[d] != b[i].shape[d]) a[i].shape[d] = -1;
    }
  }
  return a;
}

// Shapes with one dimension more in front.
inline std::vector<TensorSpec> Batched(std::vector<TensorSpec> specs, const Count& size,
                                       bool is_whole) {
  for (TensorSpec& spec : specs) {
    if (spec.ranked) spec.shape.insert(spec.shape.begin(), is_whole ? size.value() : -1);
  }
  return specs;
}

// Shapes without their first dimension.
inline std::vector<TensorSpec> Rows(const AtSite& at, std::vector<TensorSpec> specs) {
  for (size_t i = 0; i < specs.size(); ++i) {
    if (!specs[i].ranked) continue;
    if (specs[i].shape.empty()) {
      at.Fail(kInvalidArgument,
              "component " + std::to_string(i) + " is a scalar, which has no rows");
    }
    specs[i].shape.erase(specs[i].shape.begin());
  }
  return specs;
}

inline std::vector<TensorSpec> SpecsOf(const Outputs& outputs) {
  std::vector<TensorSpec> specs;
  for (const Output& output : outputs) specs.push_back(TensorSpec::Of(output));
  return specs;
}

inline Outputs Joined(Outputs first, const Outputs& then) {
  first.insert(first.end(), then.begin(), then.end());
  return first;
}

inline Output Text(Graph& graph, const std::string& text) {
  return graph.Const(Tensor::String(text));
}

// The seeds of a random stage: zeros for any, else what Python's front end gives for the same.
inline Outputs Seeds(Graph& graph, std::optional<int64_t> seed) {
  constexpr int64_t kOfGraph = 87654321, kModulus = 0x7fffffff;
  int64_t given = seed.value_or(0);
  if (given > kModulus || given < -kModulus) given = ((given % kModulus) + kModulus) % kModulus;
  return {graph.Scalar<int64_t>(seed.has_value() ? kOfGraph : 0), graph.Scalar<int64_t>(given)};
}

inline Dataset Made(Graph& graph, const AtSite& at, const std::string& op, const Outputs& inputs,
                    const std::vector<TensorSpec>& elements, const std::vector<Attr>& attrs) {
  const Output variant = graph.Op(op, inputs, attrs);
  at.Check();
  return Dataset(variant, elements);
}

// Texts out of files whose records say themselves where they end.
inline Dataset TextsOf(const char* stage, const std::string& op, const Output& files,
                       const FileOptions& options, const Site& site) {
  Graph& graph = GraphOf(files);
  const AtSite at(graph, stage, site);
  return Made(graph, at, op,
              {files, Text(graph, options.compression), graph.Scalar(options.buffer_size)},
              {{kString}}, {});
}

}  // namespace internal

// ---- sources ----

inline Dataset Dataset::FromTensors(const Outputs& components, const Site& site) {
  if (components.empty()) throw Error(kInvalidArgument, "FromTensors: no components");
  Graph& graph = internal::GraphOf(components[0]);
  const internal::AtSite at(graph, "FromTensors", site);
  const Specs specs = internal::SpecsOf(components);
  return internal::Made(graph, at, "TensorDataset", components, specs,
                        {Attr::Shapes("output_shapes", specs)});
}

inline Dataset Dataset::FromTensorSlices(const Outputs& components, const Site& site) {
  if (components.empty()) throw Error(kInvalidArgument, "FromTensorSlices: no components");
  Graph& graph = internal::GraphOf(components[0]);
  const internal::AtSite at(graph, "FromTensorSlices", site);
  const Specs specs = internal::Rows(at, internal::SpecsOf(components));
  return internal::Made(graph, at, "TensorSliceDataset", components, specs,
                        {Attr::Shapes("output_shapes", specs)});
}

inline Dataset Dataset::Range(Graph& graph, const Count& stop, const Site& site) {
  return Range(graph, 0, stop, 1, site);
}

inline Dataset Dataset::Range(Graph& graph, const Count& start, const Count& stop,
                              const Count& step, const Site& site) {
  return FromOp(graph, "RangeDataset", {start.In(graph), stop.In(graph), step.In(graph)},
                {{kInt64}}, {}, site);
}

inline Dataset Dataset::ListFiles(Graph& graph, const std::string& pattern, bool shuffle,
                                  std::optional<int64_t> seed, const Site& site) {
  const internal::AtSite at(graph, "ListFiles", site);
  const Output found = graph.Op("MatchingFiles", {internal::Text(graph, pattern)});
  const Output size = graph.Op("Size", {found}, {{"out_type", kInt64}});
  const Output none = internal::Text(graph, "No files matched pattern: " + pattern);
  const Node some = graph.AddNode(
      "Assert", {graph.Op("Greater", {size, graph.Scalar<int64_t>(0)}), none}, {{"summarize", 1}});
  const Node checked = graph.AddNode("Identity", {found}, {}, "", {some});
  at.Check();
  const Dataset names = FromTensorSlices({Output(&graph, {checked, 0})}, site);
  if (!shuffle) return names;
  const Output buffer = graph.Op("Maximum", {size, graph.Scalar<int64_t>(1)});
  return names.Shuffle(buffer, seed, true, site);
}

inline Dataset Dataset::TextLines(const Output& files, const FileOptions& options,
                                  const Site& site) {
  return internal::TextsOf("TextLines", "TextLineDataset", files, options, site);
}

inline Dataset Dataset::TFRecords(const Output& files, const FileOptions& options,
                                  const Site& site) {
  return internal::TextsOf("TFRecords", "TFRecordDataset", files, options, site);
}

inline Dataset Dataset::FixedLengthRecords(const Output& files, const Count& record_bytes,
                                           const Count& header_bytes, const Count& footer_bytes,
                                           const FileOptions& options, const Site& site) {
  Graph& graph = internal::GraphOf(files);
  const internal::AtSite at(graph, "FixedLengthRecords", site);
  return internal::Made(
      graph, at, "FixedLengthRecordDatasetV2",
      {files, header_bytes.In(graph), record_bytes.In(graph), footer_bytes.In(graph),
       graph.Scalar(options.buffer_size), internal::Text(graph, options.compression)},
      {{kString}}, {});
}

inline Dataset Dataset::Csv(const Output& files, const std::vector<CsvField>& fields,
                            const CsvOptions& options, const Site& site) {
  Graph& graph = internal::GraphOf(files);
  const internal::AtSite at(graph, "Csv", site);
  const std::vector<int64_t>& columns = options.select_columns;
  Outputs inputs = {files,
                    internal::Text(graph, options.files.compression),
                    graph.Scalar(options.files.buffer_size),
                    graph.Scalar(options.header),
                    internal::Text(graph, std::string(1, options.delimiter)),
                    graph.Scalar(options.quotes),
                    internal::Text(graph, options.missing),
                    graph.Const(Tensor::Of(columns, {static_cast<int64_t>(columns.size())}))};
  Specs specs;
  for (const CsvField& field : fields) {
    inputs.push_back(graph.Const(field.otherwise()));
    specs.push_back({field.otherwise().dtype()});
  }
  return internal::Made(graph, at, "CSVDataset", inputs, specs, internal::WithSpecs({}, specs));
}

inline Dataset Dataset::FromOp(Graph& graph, const std::string& op, const Outputs& inputs,
                               const Specs& elements, const std::vector<Attr>& attrs,
                               const Site& site) {
  const internal::AtSite at(graph, op, site);
  return internal::Made(graph, at, op, inputs, elements, internal::WithSpecs(attrs, elements));
}

// ---- which elements ----

inline Dataset Dataset::Apply(const std::string& op, const Outputs& inputs, const Specs& elements,
                              const std::vector<Attr>& attrs, const Site& site) const {
  return FromOp(graph(), op, internal::Joined({variant_}, inputs), elements, attrs, site);
}

inline Dataset Dataset::Take(const Count& count, const Site& site) const {
  return Apply("TakeDataset", {count.In(graph())}, elements_, {}, site);
}

inline Dataset Dataset::Skip(const Count& count, const Site& site) const {
  return Apply("SkipDataset", {count.In(graph())}, elements_, {}, site);
}

inline Dataset Dataset::Repeat(const Count& count, const Site& site) const {
  return Apply("RepeatDataset", {count.In(graph())}, elements_, {}, site);
}

inline Dataset Dataset::Shard(const Count& shards, const Count& index, const Site& site) const {
  return Apply("ShardDataset", {shards.In(graph()), index.In(graph())}, elements_, {}, site);
}

template <class F>
Dataset Dataset::Filter(F&& predicate, const Site& site) const {
  const internal::AtSite at(graph(), "Filter", site);
  const Function function =
      internal::ElementFunction(graph(), at, "filter", elements_, [&](const Outputs& element) {
        return internal::AsOutputs(internal::CallOf(predicate, element));
      });
  const Specs& results = function.results;
  if (results.size() != 1 || results[0].dtype != kBool || results[0].rank() > 0) {
    at.Fail(kInvalidArgument, "the function must give one bool scalar");
  }
  return Apply("FilterDataset", function.captures, elements_, {{"predicate", function}}, site);
}

inline Dataset Dataset::IgnoreErrors(const Site& site) const {
  return Apply("IgnoreErrorsDataset", {}, elements_, {}, site);
}

inline Dataset Dataset::Concatenate(const Dataset& more, const Site& site) const {
  const internal::AtSite at(graph(), "Concatenate", site);
  return Apply("ConcatenateDataset", {more.variant_},
               internal::Wider(at, elements_, more.elements_), {}, site);
}

inline Dataset Dataset::Zip(const std::vector<Dataset>& datasets, const Site& site) {
  if (datasets.empty()) throw Error(kInvalidArgument, "Zip: no datasets");
  Outputs variants;
  Specs specs;
  for (const Dataset& dataset : datasets) {
    variants.push_back(dataset.variant_);
    specs.insert(specs.end(), dataset.elements_.begin(), dataset.elements_.end());
  }
  return FromOp(datasets[0].graph(), "ZipDataset", variants, specs, {}, site);
}

inline Dataset Dataset::Enumerate(int64_t start, const Site& site) const {
  constexpr int64_t kEnd = 0x7fffffffffffffff;
  return Zip({Range(graph(), start, kEnd, 1, site), *this}, site);
}

// ---- in which order, and when ----

inline Dataset Dataset::Shuffle(const Count& buffer_size, std::optional<int64_t> seed,
                                bool reshuffle_each_iteration, const Site& site) const {
  return Apply("ShuffleDataset",
               internal::Joined({buffer_size.In(graph())}, internal::Seeds(graph(), seed)),
               elements_, {{"reshuffle_each_iteration", reshuffle_each_iteration}}, site);
}

inline Dataset Dataset::Cache(const Site& site) const {
  return Apply("CacheDataset", {internal::Text(graph(), "")}, elements_, {}, site);
}

inline Dataset Dataset::Prefetch(const Count& buffer_size, const Site& site) const {
  return Apply("PrefetchDataset", {buffer_size.In(graph())}, elements_, {}, site);
}

// ---- what becomes of them ----

template <class F>
Dataset Dataset::Map(F&& function, const Count& parallel_calls, bool deterministic,
                     const Site& site) const {
  const internal::AtSite at(graph(), "Map", site);
  const Function f =
      internal::ElementFunction(graph(), at, "map", elements_, [&](const Outputs& element) {
        return internal::AsOutputs(internal::CallOf(function, element));
      });
  if (parallel_calls.is_zero()) {
    return Apply("MapDataset", f.captures, f.results, {{"f", f}}, site);
  }
  const Output calls = graph().Op("Cast", {parallel_calls.In(graph())}, {{"DstT", kInt32}});
  return Apply("ParallelMapDataset", internal::Joined(f.captures, {calls}), f.results,
               {{"f", f}, {"sloppy", !deterministic}}, site);
}

template <class F>
std::pair<Function, Dataset::Specs> Dataset::ToDatasets(const internal::AtSite& at,
                                                        const std::string& name,
                                                        F& function) const {
  Specs specs;
  Function made =
      internal::ElementFunction(graph(), at, name, elements_, [&](const Outputs& element) {
        const Dataset inner = internal::CallOf(function, element);
        specs = inner.elements_;
        return Outputs{inner.variant_};
      });
  return {std::move(made), std::move(specs)};
}

template <class F>
Dataset Dataset::FlatMap(F&& function, const Site& site) const {
  const internal::AtSite at(graph(), "FlatMap", site);
  const auto [f, specs] = ToDatasets(at, "flat_map", function);
  return Apply("FlatMapDataset", f.captures, specs, {{"f", f}}, site);
}

template <class F>
Dataset Dataset::Interleave(F&& function, const Count& cycle_length, const Count& block_length,
                            const Count& parallel_calls, const Site& site) const {
  const internal::AtSite at(graph(), "Interleave", site);
  const auto [f, specs] = ToDatasets(at, "interleave", function);
  Outputs inputs =
      internal::Joined(f.captures, {cycle_length.In(graph()), block_length.In(graph())});
  if (parallel_calls.is_zero()) {
    return Apply("InterleaveDataset", inputs, specs, {{"f", f}}, site);
  }
  inputs.push_back(parallel_calls.In(graph()));
  return Apply("ParallelInterleaveDatasetV2", inputs, specs, {{"f", f}}, site);
}

template <class F>
Outputs Dataset::Reduce(const Outputs& initial, F&& function, const Site& site) const {
  const internal::AtSite at(graph(), "Reduce", site);
  const Specs state = internal::SpecsOf(initial);
  Specs arguments = state;
  arguments.insert(arguments.end(), elements_.begin(), elements_.end());
  const Function f = internal::ElementFunction(
      graph(), at, "reduce", arguments,
      [&](const Outputs& both) { return internal::AsOutputs(internal::CallOf(function, both)); });
  const Specs results = internal::Wider(at, state, f.results);
  const Node node = graph().AddNode(
      "ReduceDataset", internal::Joined(internal::Joined({variant_}, initial), f.captures),
      internal::WithSpecs({{"f", f},
                           Attr::Types("Tstate", state),
                           Attr::Types("Targuments", internal::SpecsOf(f.captures))},
                          results));
  at.Check();
  Outputs last;
  for (size_t i = 0; i < results.size(); ++i) {
    last.push_back({&graph(), {node, static_cast<int32_t>(i)}});
  }
  return last;
}

// ---- several as one ----

inline Dataset Dataset::Batch(const Count& batch_size, bool drop_remainder,
                              const Site& site) const {
  return Apply("BatchDatasetV2", {batch_size.In(graph()), graph().Scalar(drop_remainder)},
               internal::Batched(elements_, batch_size, drop_remainder), {}, site);
}

inline Dataset Dataset::PaddedBatch(const Count& batch_size,
                                    const std::vector<std::vector<int64_t>>& shapes,
                                    const Outputs& values, bool drop_remainder,
                                    const Site& site) const {
  const internal::AtSite at(graph(), "PaddedBatch", site);
  const size_t n = elements_.size();
  if ((!shapes.empty() && shapes.size() != n) || (!values.empty() && values.size() != n)) {
    at.Fail(kInvalidArgument, "an element has " + std::to_string(n) + " components, got " +
                                  std::to_string(shapes.size()) + " shapes and " +
                                  std::to_string(values.size()) + " values");
  }
  Specs padded = elements_;
  Outputs wanted, around;
  for (size_t i = 0; i < n; ++i) {
    TensorSpec& spec = padded[i];
    if (!shapes.empty()) spec = {spec.dtype, shapes[i]};
    if (!spec.ranked) {
      at.Fail(kInvalidArgument,
              "the rank of component " + std::to_string(i) + " is not known: say its shape");
    }
    const auto rank = static_cast<int64_t>(spec.shape.size());
    wanted.push_back(graph().Const(Tensor::Of(spec.shape, {rank})));
    if (!values.empty()) {
      around.push_back(values[i]);
    } else if (spec.dtype == kString) {
      around.push_back(internal::Text(graph(), ""));
    } else {
      around.push_back(graph().Op("Cast", {graph().Scalar<int32_t>(0)}, {{"DstT", spec.dtype}}));
    }
  }
  const Specs specs = internal::Batched(padded, batch_size, drop_remainder);
  Outputs inputs = internal::Joined({variant_, batch_size.In(graph())}, wanted);
  inputs = internal::Joined(internal::Joined(inputs, around), {graph().Scalar(drop_remainder)});
  return internal::Made(graph(), at, "PaddedBatchDatasetV2", inputs, specs,
                        {Attr::Types("Toutput_types", specs),
                         Attr::Shapes("output_shapes", specs),
                         {"N", static_cast<int64_t>(n)}});
}

inline Dataset Dataset::Unbatch(const Site& site) const {
  const internal::AtSite at(graph(), "Unbatch", site);
  return Apply("UnbatchDataset", {}, internal::Rows(at, elements_), {}, site);
}

inline Dataset Dataset::Window(const Count& size, const Count& shift, const Count& stride,
                               bool drop_remainder, const Site& site) const {
  return Apply(
      "WindowDataset",
      {size.In(graph()), shift.In(graph()), stride.In(graph()), graph().Scalar(drop_remainder)},
      Specs(elements_.size(), TensorSpec{kVariant}), {}, site);
}

// ---- elements ----

inline Iterator Dataset::MakeOneShotIterator(const Site& site) const {
  const internal::AtSite at(graph(), "MakeOneShotIterator", site);
  internal::StatusHolder status;
  const internal::Handle<TwGraph, &tw_graph_free> body(tw_function_body_new(graph().c(), status.c));
  graph().Note(status.Take());
  at.Check();
  const TwOutput made = tw_function_copy(body.get(), variant_.c(), status.c);
  if (made.node == nullptr) {
    at.Fail(status.Take().code(), status.Take().message() + ": make an initializable iterator");
  }
  Result<std::string> name = internal::TextOf(
      tw_function_define(body.get(), "Dataset_factory", 1, &made, 1, nullptr, status.c), status);
  graph().Note(name.status());
  at.Check();
  const Function factory{std::move(name.value())};
  const Output handle = graph().Op("OneShotIterator", {},
                                   internal::WithSpecs({{"dataset_factory", factory}}, elements_));
  at.Check();
  return {handle, nullptr, elements_};
}

inline Iterator Dataset::MakeInitializableIterator(const std::string& shared_name,
                                                   const Site& site) const {
  const Iterator iterator = Iterator::FromStructure(graph(), elements_, shared_name, site);
  return {iterator.handle(), iterator.MakeInitializer(variant_, site), elements_};
}

}  // namespace tw
