// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

// Tables from scalars to scalars give values in the shape of the keys; of others the handle does
// not tell enough.
Status FindShape(ShapeContext& c) {
  const Node* const maker = c.node().input(0).node;
  if (maker == nullptr) return OkStatus();
  const std::string_view op = maker->op_name();
  const bool of_scalars = op == "HashTable" || op == "HashTableV2" || op == "AnonymousHashTable" ||
                          op == "MutableHashTable" || op == "MutableHashTableV2" ||
                          op == "AnonymousMutableHashTable";
  if (of_scalars) c.set_output(0, c.input(1));
  return OkStatus();
}

Status ExportShape(ShapeContext&) { return OkStatus(); }

Status InitializeShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape keys, c.InputWithRank(1, 1));
  RETURN_IF_ERROR(keys.MergeWith(c.input(2)).status());
  return OkStatus();
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
        .Shape(NoOutputs)
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
