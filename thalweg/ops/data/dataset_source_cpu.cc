// SPDX-License-Identifier: Apache-2.0
#include "thalweg/base/entropy.h"
#include "thalweg/data/batching.h"
#include "thalweg/data/generator.h"
#include "thalweg/data/memory_sources.h"
#include "thalweg/ops/data/dataset_kernel.h"

namespace thalweg {
namespace {

Element Inputs(const Context& ctx) {
  Element element;
  for (int i = 0; i < ctx.num_inputs(); ++i) element.push_back(ctx.input(i));
  return element;
}

Result<DatasetPtr> MakeTensor(Context& ctx, const DatasetAttrs& attrs) {
  Element element = Inputs(ctx);
  RETURN_IF_ERROR(attrs.spec.Check(element));
  return OneElementDataset(std::move(element), attrs.spec);
}

Result<DatasetPtr> MakeSlices(Context& ctx, const DatasetAttrs& attrs) {
  return SliceDataset(Inputs(ctx), attrs.spec);
}

Result<DatasetPtr> MakeSparseRows(Context& ctx, const DatasetAttrs&) {
  return SparseRowsDataset(ctx.input(0), ctx.input(1), ctx.input(2));
}

// The inputs are the components of one element after the other.
Result<DatasetPtr> MakeList(Context& ctx, const DatasetAttrs& attrs) {
  const auto width = static_cast<int>(attrs.spec.types.size());
  if (width == 0 || ctx.num_inputs() % width != 0) {
    return InvalidArgument("elements have ", width, " components, there are ", ctx.num_inputs(),
                           " tensors");
  }
  const auto elements = std::make_shared<KeptElements>("List");
  for (int i = 0; i < ctx.num_inputs(); i += width) {
    Element element;
    for (int k = i; k < i + width; ++k) element.push_back(ctx.input(k));
    RETURN_IF_ERROR(attrs.spec.Check(element));
    RETURN_IF_ERROR(elements->Push(ctx.allocator(), std::move(element)));
  }
  return ListDataset(elements, attrs.spec);
}

Result<DatasetPtr> MakeRange(Context& ctx, const DatasetAttrs& attrs) {
  ASSIGN_OR_RETURN(const int64_t start, IntArgument(ctx, 0, "start"));
  ASSIGN_OR_RETURN(const int64_t stop, IntArgument(ctx, 1, "stop"));
  ASSIGN_OR_RETURN(const int64_t step, IntArgument(ctx, 2, "step"));
  if (attrs.spec.types.size() != 1) {
    return InvalidArgument("a range has one component, output_types has ", attrs.spec.types.size());
  }
  return RangeDataset(start, stop, step, attrs.spec);
}

Result<DatasetPtr> MakeRandom(Context& ctx, const DatasetAttrs& attrs) {
  ASSIGN_OR_RETURN(const int64_t seed, IntArgument(ctx, 0, "seed"));
  ASSIGN_OR_RETURN(const int64_t seed2, IntArgument(ctx, 1, "seed2"));
  if (seed == 0 && seed2 == 0) return RandomDataset(RandomSeed(), RandomSeed(), attrs.spec);
  return RandomDataset(static_cast<uint64_t>(seed), static_cast<uint64_t>(seed2), attrs.spec);
}

// What the first function gives is what the others take; its types are those of their first
// arguments.
Result<DatasetPtr> MakeGenerator(Context& ctx, const DatasetAttrs& attrs) {
  GeneratorFunctions functions;
  ASSIGN_OR_RETURN(functions.begin, FunctionArgument(ctx, attrs, "init_func", {}));
  const std::vector<DType> state = functions.begin->function->result_types();
  ASSIGN_OR_RETURN(functions.next, FunctionArgument(ctx, attrs, "next_func", state));
  ASSIGN_OR_RETURN(functions.end, FunctionArgument(ctx, attrs, "finalize_func", state));
  return GeneratorDataset(std::move(functions), attrs.spec);
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(dataset_source, cpu) {
  AddDataset<MakeTensor>(registry, "TensorDataset");
  AddDataset<MakeSlices>(registry, "TensorSliceDataset");
  AddDataset<MakeSparseRows>(registry, "SparseTensorSliceDataset");
  AddDataset<MakeList>(registry, "ListDataset");
  AddDataset<MakeRange>(registry, "RangeDataset");
  AddDataset<MakeRandom>(registry, "RandomDataset");
  AddDataset<MakeRandom>(registry, "ExperimentalRandomDataset");
  AddDataset<MakeGenerator>(registry, "GeneratorDataset");
}
