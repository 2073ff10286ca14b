// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

THALWEG_OP(dump_tensor) {
  registry.Op("DumpTensor")
      .Shape(UnknownShape)
      .NotDifferentiable("it has no outputs")
      .Doc("Appends its input to a file of records, one TensorProto a run.");
}
