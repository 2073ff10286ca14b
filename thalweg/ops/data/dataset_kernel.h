// SPDX-License-Identifier: Apache-2.0
// What the kernels of this family share: a kernel that makes a dataset, its arguments, functions.
//
//   Result<DatasetPtr> MakeTake(Context& ctx, const DatasetAttrs&) {
//     ASSIGN_OR_RETURN(const DatasetPtr input, DatasetOf(ctx.input(0)));
//     ASSIGN_OR_RETURN(const int64_t count, IntArgument(ctx, 1, "count"));
//     return TakeDataset(input, count);
//   }
//   AddDataset<MakeTake>(registry, "TakeDataset");
//
// Ownership: the output's variant shares the dataset, which shares what its function has captured.
// Threads: Compute from any, several at once; attributes are read-only.
// Errors: InvalidArgument for an argument of another shape or value, FailedPrecondition where the
// session runs no functions; those of the maker.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "thalweg/data/dataset.h"
#include "thalweg/data/element_function.h"
#include "thalweg/io/inflate.h"
#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {

// A function that a node names, and where what it has captured is among the inputs.
struct FunctionAttr {
  FunctionRef function;
  int begin = 0;
  int end = 0;
};

// What the node says of elements, in output_types (or Toutput_types) and output_shapes; a string
// where it says nothing.
Result<ElementSpec> SpecOf(const Node& node);

// What a dataset's node says, read once.
struct DatasetAttrs {
  ElementSpec spec;  // empty where the node does not say
  std::map<std::string, FunctionAttr, std::less<>> functions;
  AttrMap all;
  std::string label;  // "MapDataset 'decode'"
  std::string site;   // the line of the program that made the node, where it is known
  PlacePtr place;     // both, for errors
  std::string op;
  uint64_t fingerprint = 0;  // of attributes and functions that say what the elements are
  std::vector<int> inputs;   // that do

  static Result<DatasetAttrs> Of(const Node& node);
  bool Flag(std::string_view name, bool otherwise) const;
  DatasetOrigin OriginOf(const Context& ctx) const;
};

Result<int64_t> IntArgument(const Context& ctx, int input, std::string_view name);
Result<bool> BoolArgument(const Context& ctx, int input, std::string_view name);
Result<std::string> TextArgument(const Context& ctx, int input, std::string_view name);
// The strings of a scalar or vector.
Result<std::vector<std::string>> TextsArgument(const Context& ctx, int input,
                                               std::string_view name);
// How files are compressed, as argument `input` says.
Result<Compression> CompressionArgument(const Context& ctx, int input);
// The node's function, for elements of these types.
Result<ElementFunctionPtr> FunctionArgument(Context& ctx, const DatasetAttrs& attrs,
                                            std::string_view name, std::vector<DType> types);

using DatasetMaker = Result<DatasetPtr> (*)(Context& ctx, const DatasetAttrs& attrs);

class DatasetKernel : public Kernel {
 public:
  DatasetKernel(DatasetAttrs attrs, DatasetMaker make) : attrs_(std::move(attrs)), make_(make) {}
  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(DatasetPtr dataset, make_(ctx, attrs_));
    dataset->SetOrigin(attrs_.OriginOf(ctx));
    std::vector<Tensor> held;
    for (int i = 0; i < ctx.num_inputs(); ++i) held.push_back(ctx.input(i));
    ASSIGN_OR_RETURN(Tensor out, TensorOf(std::move(dataset), held));
    ctx.set_output(0, std::move(out));
    return OkStatus();
  }

 private:
  const DatasetAttrs attrs_;
  const DatasetMaker make_;
};

template <DatasetMaker make>
struct DatasetKernelOf {
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(DatasetAttrs attrs, DatasetAttrs::Of(c.node()));
    return std::unique_ptr<Kernel>(std::make_unique<DatasetKernel>(std::move(attrs), make));
  }
};

template <DatasetMaker make>
void AddDataset(KernelRegistry& registry, std::string_view op) {
  registry.Add<DatasetKernelOf<make>>(op, kCpu);
}

}  // namespace thalweg
