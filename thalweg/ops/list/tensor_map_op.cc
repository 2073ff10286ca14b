// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/gradient_context.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status MapScalar(ShapeContext& c) { return c.InputWithRank(0, 0).status(); }

// One scalar of a map.
Status ScalarOfMap(ShapeContext& c) {
  RETURN_IF_ERROR(MapScalar(c));
  return ScalarShape(c);
}

// Inputs: map, key, value. Where the gradient has not the key, it is zero there.
Status InsertGradient(GradientContext& c) {
  GraphBuilder& b = c.b();
  const Output key = c.input(1), value = c.input(2);
  const Output zero =
      b.Op("TensorMapInsert", {b.Op("EmptyTensorMap", {}), key, b.Op("ZerosLike", {value})});
  const Output grad = b.Op("AddN", {c.grad(0), zero});
  c.set_input_grad(0, b.Op("TensorMapErase", {grad, key}, {{"value_dtype", value.dtype()}}));
  c.set_input_grad(2, b.Op("TensorMapLookup", {grad, key}, {{"value_dtype", value.dtype()}}));
  return b.status();
}

Status LookupGradient(GradientContext& c) {
  GraphBuilder& b = c.b();
  c.set_input_grad(0, b.Op("TensorMapInsert", {b.Op("EmptyTensorMap", {}), c.input(1), c.grad(0)}));
  return b.status();
}

// A key that is not there counts as zero.
Status EraseGradient(GradientContext& c) {
  c.set_input_grad(0, c.grad(0));
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(tensor_map) {
  registry.Op("EmptyTensorMap")
      .Shape(ScalarShape)
      .NotDifferentiable("it has no inputs")
      .Doc("A map without keys.");
  registry.Op("TensorMapInsert")
      .Shape(ScalarOfMap)
      .Gradient(InsertGradient)
      .Doc("A map in which a key has a value.");
  registry.Op("TensorMapLookup")
      .Shape(MapScalar)
      .Gradient(LookupGradient)
      .Doc("The value of a key of a map.");
  registry.Op("TensorMapErase")
      .Shape(ScalarOfMap)
      .Gradient(EraseGradient)
      .Doc("A map without one of its keys.");
  registry.Op("TensorMapHasKey")
      .Shape(ScalarOfMap)
      .NotDifferentiable("a truth value is no number")
      .Doc("Whether a map has a key.");
  registry.Op("TensorMapSize")
      .Shape(ScalarOfMap)
      .NotDifferentiable("a size does not depend on values")
      .Doc("How many keys a map has.");
  registry.Op("TensorMapStackKeys")
      .Shape(MapScalar)
      .NotDifferentiable("keys do not depend on values")
      .Doc("The keys of a map as the rows of a tensor, in the order in which they came.");
}
