// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status CsvShape(ShapeContext& c) {
  for (int i = 1; i < c.num_inputs(); ++i) {
    const PartialShape& value = c.input(i);
    if (!value.known_rank()) continue;
    if (value.rank() > 1) {
      return InvalidArgument("Shape must be at most rank 1 but is rank ", value.rank(),
                             " for record_defaults[", i - 1, "]");
    }
    if (value.rank() == 1 && value.dim(0) > 1) {
      return InvalidArgument(
          "Shape of a default must be a length-0 or length-1 vector, or a "
          "scalar; record_defaults[",
          i - 1, "] has shape ", value);
    }
  }
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, c.input(0));
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(decode_csv) {
  registry.Op("DecodeCSV")
      .Shape(CsvShape)
      .NotDifferentiable("text has no derivative")
      .Doc("Lines of comma-separated values as a tensor for each column.");
}
