// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

// Tables from scalars to scalars give values in the shape of the keys, those from scalars to
// tensors that shape with one more; of others the handle does not tell enough.
Status FindShape(ShapeContext& c) {
  const Node* const maker = c.node().input(0).node;
  if (maker == nullptr) return OkStatus();
  const std::string_view op = maker->op_name();
  const bool of_scalars = op == "HashTable" || op == "HashTableV2" || op == "AnonymousHashTable" ||
                          op == "MutableHashTable" || op == "MutableHashTableV2" ||
                          op == "AnonymousMutableHashTable";
  if (of_scalars) c.set_output(0, c.input(1));
  if (op.find("HashTableOfTensors") != std::string_view::npos) {
    ASSIGN_OR_RETURN(const PartialShape value, maker->Attr<PartialShape>("value_shape"));
    if (!c.input(1).known_rank() || !value.known_rank()) return OkStatus();
    Dims dims = c.input(1).dims();
    for (int d = 0; d < value.rank(); ++d) dims.push_back(value.dim(d));
    ASSIGN_OR_RETURN(PartialShape shape, PartialShape::Make(dims));
    c.set_output(0, std::move(shape));
  }
  return OkStatus();
}

// Whether input 0 is known for a table whose keys are scalars.
bool HasScalarKeys(const ShapeContext& c) {
  const Node* const maker = c.node().input(0).node;
  if (maker == nullptr) return false;
  const std::string_view op = maker->op_name();
  return op.find("HashTable") != std::string_view::npos &&
         op.find("DenseHashTable") == std::string_view::npos;
}

// The keys are a vector where the handle tells that they are scalars.
Status ExportShape(ShapeContext& c) {
  if (HasScalarKeys(c)) c.set_output(0, PartialShape{PartialShape::kUnknownDim});
  return OkStatus();
}

Status InitializeShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape keys, c.InputWithRank(1, 1));
  RETURN_IF_ERROR(keys.MergeWith(c.input(2)).status());
  return OkStatus();
}

Status ImportShape(ShapeContext& c) {
  if (!HasScalarKeys(c)) return OkStatus();
  ASSIGN_OR_RETURN(const PartialShape keys, c.InputWithRank(1, 1));
  ASSIGN_OR_RETURN(const PartialShape values, c.InputWithRankAtLeast(2, 1));
  if (!values.known_rank()) return OkStatus();
  return MergeDims(keys.dim(0), values.dim(0)).status();
}

Status FileShape(ShapeContext& c) { return c.InputWithRank(1, 0).status(); }

}  // namespace
}  // namespace thalweg

THALWEG_OP(lookup) {
  constexpr std::string_view kWhy = "a table has no derivative";
  for (const std::string suffix : {"", "V2"}) {
    registry.Op("LookupTableFind" + suffix)
        .Shape(FindShape)
        .NotDifferentiable(kWhy)
        .Doc("The values of keys, and a default for keys that the table has not.");
    registry.Op("LookupTableInsert" + suffix)
        .Shape(NoOutputs)
        .NotDifferentiable(kWhy)
        .Doc("Gives keys of a table values.");
    registry.Op("LookupTableSize" + suffix)
        .Shape(ScalarShape)
        .NotDifferentiable(kWhy)
        .Doc("How many keys a table has.");
    registry.Op("LookupTableExport" + suffix)
        .Shape(ExportShape)
        .NotDifferentiable(kWhy)
        .Doc("All keys and values of a table.");
    registry.Op("LookupTableImport" + suffix)
        .Shape(ImportShape)
        .NotDifferentiable(kWhy)
        .Doc("Replaces all keys and values of a table.");
    registry.Op("InitializeTable" + suffix)
        .Shape(InitializeShape)
        .NotDifferentiable(kWhy)
        .Doc("Fills a table that is filled once.");
    registry.Op("InitializeTableFromTextFile" + suffix)
        .Shape(FileShape)
        .NotDifferentiable(kWhy)
        .Doc("Fills a table that is filled once, from the lines of a file.");
  }
  registry.Op("LookupTableRemoveV2")
      .Shape(NoOutputs)
      .NotDifferentiable(kWhy)
      .Doc("Removes keys from a table.");
}
