// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

THALWEG_OP(dataset_order) {
  using thalweg::ScalarShape;
  registry.Op("ShuffleDataset")
      .Shape(ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("The elements in random order.");
  registry.Op("ShuffleDatasetV2")
      .Shape(ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("The elements in random order.");
  registry.Op("ShuffleDatasetV3")
      .Shape(ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("The elements in random order.");
  registry.Op("ShuffleAndRepeatDataset")
      .Shape(ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("The elements several times, each time in random order.");
  registry.Op("ShuffleAndRepeatDatasetV2")
      .Shape(ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("The elements several times, each time in random order.");
  registry.Op("PrefetchDataset")
      .Shape(ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("The elements, made before they are asked for.");
  registry.Op("CacheDataset")
      .Shape(ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("The elements, made once and kept.");
  registry.Op("CacheDatasetV2")
      .Shape(ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("The elements, made once and kept.");
  registry.Op("ModelDataset")
      .Shape(ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("The input: its stages look after themselves.");
  registry.Op("PrivateThreadPoolDataset")
      .Shape(ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("The input: its stages use the session's threads.");
  registry.Op("ExperimentalPrivateThreadPoolDataset")
      .Shape(ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("The input: its stages use the session's threads.");
  registry.Op("AnonymousSeedGenerator")
      .Shape(ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("Seeds for shuffled datasets.");
  registry.Op("DummySeedGenerator")
      .Shape(ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("No seeds.");
  registry.Op("AnonymousMemoryCache")
      .Shape(ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("Memory for a cached dataset.");
  registry.Op("DummyMemoryCache")
      .Shape(ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("No memory.");
  for (const char* op :
       {"OptimizeDataset", "OptimizeDatasetV2", "OptionsDataset", "FinalizeDataset",
        "MaxIntraOpParallelismDataset", "ExperimentalMaxIntraOpParallelismDataset",
        "BytesProducedStatsDataset", "ExperimentalBytesProducedStatsDataset", "LatencyStatsDataset",
        "ExperimentalLatencyStatsDataset", "NonSerializableDataset",
        "ExperimentalNonSerializableDataset", "ChooseFastestDataset",
        "ExperimentalChooseFastestDataset"}) {
    registry.Op(op)
        .Shape(ScalarShape)
        .NotDifferentiable("a dataset is no number")
        .Doc("The input, or the first of several that give the same.");
  }
  for (const char* op : {"DeleteMemoryCache", "DeleteSeedGenerator"}) {
    registry.Op(op)
        .Shape(thalweg::NoOutputs)
        .NotDifferentiable("a resource is no number")
        .Doc("Nothing: what is anonymous goes with its handle.");
  }
}
