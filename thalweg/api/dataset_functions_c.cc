// SPDX-License-Identifier: Apache-2.0
// The functions of the C ABI that build stages with functions of elements, and iterators.
#include "thalweg/api/dataset_builder.h"

using namespace thalweg;       // NOLINT: the file is glue for this namespace
using namespace thalweg::api;  // NOLINT

namespace {

// The body of a function whose arguments are the state of a reduction and an element's components.
Result<std::unique_ptr<TwGraph>> NewBody(const TwGraph& outside, const ElementSpec& arguments,
                                         TwOutput* components) {
  auto function = std::make_shared<FunctionBuilder>(outside.graph, outside.function);
  for (size_t i = 0; i < arguments.types.size(); ++i) {
    ASSIGN_OR_RETURN(const Output argument,
                     function->AddArg(StrCat("arg_", i), arguments.types[i], arguments.shapes[i]));
    components[i] = Wrap(argument);
  }
  std::shared_ptr<Graph> body = function->body();
  return std::make_unique<TwGraph>(
      TwGraph{outside.environment, std::move(body), std::move(function)});
}

// Ends a function that makes datasets, and makes the stage `op` of their elements.
const TwDataset* OfDatasets(TwDatasetBuilder* builder, const char* name, const TwDataset* dataset,
                            const TwDataset* inner, const char* op,
                            const std::vector<TwCount>& counts) {
  return MakeDataset(builder, name, [&](DatasetStage& stage) -> TwDataset {
    if (!stage.Require(inner, "the function's dataset")) return {};
    const DefinedFunction f = stage.EndFunction(dataset, {inner->variant});
    std::vector<Output> inputs = f.captures;
    for (const TwCount& count : counts) inputs.push_back(stage.Number(count));
    return stage.Next(dataset, op, inputs, inner->elements, {{"f", f.ref}});
  });
}

bool IsZero(const TwCount& count) { return count.scalar.node == nullptr && count.value == 0; }

}  // namespace

extern "C" {

TwGraph* tw_dataset_begin_function(TwDatasetBuilder* builder, const TwDataset* dataset,
                                   const TwOutput* initial, int32_t num_initial,
                                   TwOutput* components) {
  return MakeStage<TwGraph*>(builder, "Function", [&](DatasetStage& stage) -> TwGraph* {
    if (!stage.Require(dataset, "the dataset") || !stage.Require(components, "components")) {
      return nullptr;
    }
    std::vector<Output> state = stage.Given(initial, num_initial, "initial value");
    Result<std::unique_ptr<TwGraph>> body =
        NewBody(builder->graph(), Joined(SpecOf(state), dataset->elements), components);
    stage.Fail(body.status());
    if (!stage.ok()) return nullptr;
    builder->bodies.push_back(*std::move(body));
    TwGraph* const made = builder->bodies.back().get();
    builder->begun.push_back({made, dataset, std::move(state)});
    return made;
  });
}

const TwDataset* tw_dataset_map(TwDatasetBuilder* builder, const TwDataset* dataset,
                                const TwOutput* results, int32_t n, TwCount parallel_calls,
                                int32_t deterministic) {
  return MakeDataset(builder, "Map", [&](DatasetStage& stage) {
    const DefinedFunction f = stage.EndFunction(dataset, stage.Given(results, n, "result"));
    if (IsZero(parallel_calls)) {
      return stage.Next(dataset, "MapDataset", f.captures, f.results, {{"f", f.ref}});
    }
    const Output calls =
        stage.Op("Cast", {stage.Number(parallel_calls)}, {{"DstT", DType::kInt32}});
    return stage.Next(dataset, "ParallelMapDataset", Joined(f.captures, {calls}), f.results,
                      {{"f", f.ref}, {"sloppy", deterministic == 0}});
  });
}

const TwDataset* tw_dataset_filter(TwDatasetBuilder* builder, const TwDataset* dataset,
                                   TwOutput predicate) {
  return MakeDataset(builder, "Filter", [&](DatasetStage& stage) -> TwDataset {
    const Output result = stage.Given(predicate, "the predicate");
    if (!stage.ok()) return {};
    const DefinedFunction f = stage.EndFunction(dataset, {result});
    if (stage.ok() && (f.results.types[0] != DType::kBool || f.results.shapes[0].rank() > 0)) {
      stage.Fail(InvalidArgument("the function must give one bool scalar"));
    }
    return stage.Same(dataset, "FilterDataset", f.captures, {{"predicate", f.ref}});
  });
}

const TwDataset* tw_dataset_flat_map(TwDatasetBuilder* builder, const TwDataset* dataset,
                                     const TwDataset* inner) {
  return OfDatasets(builder, "FlatMap", dataset, inner, "FlatMapDataset", {});
}

const TwDataset* tw_dataset_interleave(TwDatasetBuilder* builder, const TwDataset* dataset,
                                       const TwDataset* inner, TwCount cycle_length,
                                       TwCount block_length, TwCount parallel_calls) {
  if (IsZero(parallel_calls)) {
    return OfDatasets(builder, "Interleave", dataset, inner, "InterleaveDataset",
                      {cycle_length, block_length});
  }
  return OfDatasets(builder, "Interleave", dataset, inner, "ParallelInterleaveDatasetV2",
                    {cycle_length, block_length, parallel_calls});
}

TwNode* tw_dataset_reduce(TwDatasetBuilder* builder, const TwDataset* dataset,
                          const TwOutput* results, int32_t n) {
  return MakeStage<TwNode*>(builder, "Reduce", [&](DatasetStage& stage) -> TwNode* {
    const DefinedFunction f = stage.EndFunction(dataset, stage.Given(results, n, "result"));
    if (!stage.ok()) return nullptr;
    const ElementSpec state = SpecOf(f.initial);
    const ElementSpec made = CommonOf(stage, state, f.results);
    return Wrap(stage.OpNode("ReduceDataset",
                             Joined(Joined({dataset->variant}, f.initial), f.captures),
                             {{"f", f.ref},
                              {"Tstate", state.types},
                              {"Targuments", SpecOf(f.captures).types},
                              {"output_types", made.types},
                              {"output_shapes", made.shapes}}));
  });
}

TwIterator tw_dataset_make_one_shot_iterator(TwDatasetBuilder* builder, const TwDataset* dataset) {
  return MakeStage<TwIterator>(
      builder, "MakeOneShotIterator", [&](DatasetStage& stage) -> TwIterator {
        if (!stage.Require(dataset, "the dataset")) return {};
        TwGraph& graph = builder->graph();
        FunctionBuilder factory(graph.graph, graph.function);
        const Result<Output> made = factory.CopyInside(dataset->variant);
        if (!made.ok()) {
          stage.Fail({made.status().code(),
                      StrCat(made.status().message(), ": make an initializable iterator")});
          return {};
        }
        FunctionSpec spec;
        spec.name = "Dataset_factory";
        spec.append_hash = true;
        spec.results = {*made};
        const Result<std::string> name = factory.Define(spec);
        stage.Fail(name.status());
        if (!stage.ok()) return {};
        const Output handle = stage.Op("OneShotIterator", {},
                                       {{"dataset_factory", FunctionRef{*name, {}}},
                                        {"output_types", dataset->elements.types},
                                        {"output_shapes", dataset->elements.shapes}});
        return {Wrap(handle), nullptr};
      });
}

TwIterator tw_dataset_make_initializable_iterator(TwDatasetBuilder* builder,
                                                  const TwDataset* dataset,
                                                  const char* shared_name) {
  return MakeStage<TwIterator>(
      builder, "MakeInitializableIterator", [&](DatasetStage& stage) -> TwIterator {
        if (!stage.Require(dataset, "the dataset")) return {};
        const Output handle =
            stage.Op("IteratorV2", {},
                     {{"shared_name", std::string(shared_name == nullptr ? "" : shared_name)},
                      {"container", std::string()},
                      {"output_types", dataset->elements.types},
                      {"output_shapes", dataset->elements.shapes}});
        return {Wrap(handle), Wrap(stage.OpNode("MakeIterator", {dataset->variant, handle}))};
      });
}

TwNode* tw_dataset_get_next(TwDatasetBuilder* builder, const TwDataset* dataset,
                            TwIterator iterator) {
  return MakeStage<TwNode*>(builder, "GetNext", [&](DatasetStage& stage) -> TwNode* {
    if (!stage.Require(dataset, "the dataset")) return nullptr;
    const Output handle = stage.Given(iterator.handle, "the iterator");
    return Wrap(stage.OpNode(
        "IteratorGetNext", {handle},
        {{"output_types", dataset->elements.types}, {"output_shapes", dataset->elements.shapes}}));
  });
}

}  // extern "C"
