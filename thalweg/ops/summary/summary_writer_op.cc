// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

// All inputs but the one named are scalars: the writer, a step, a tag.
template <int kTensor>
Status WriteShape(ShapeContext& c) {
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (i != kTensor) RETURN_IF_ERROR(c.InputWithRank(i, 0).status());
  }
  return OkStatus();
}

Status ImageShape(ShapeContext& c) {
  for (int i = 0; i < 3; ++i) RETURN_IF_ERROR(c.InputWithRank(i, 0).status());
  RETURN_IF_ERROR(c.InputWithRank(3, 4).status());
  return c.InputWithRank(4, 1).status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(summary_writer) {
  const auto add = [&](const char* op, ShapeFn shape, const char* doc) {
    registry.Op(op).Shape(shape).NotDifferentiable("it writes a file").Doc(doc);
  };
  constexpr int kNone = -1;
  add("CloseSummaryWriter", WriteShape<kNone>, "Writes what waits and closes the event file.");
  add("CreateSummaryDbWriter", WriteShape<kNone>, "Refused: nothing reads that database any more.");
  add("CreateSummaryFileWriter", WriteShape<kNone>, "Opens the event file of a writer.");
  add("FlushSummaryWriter", WriteShape<kNone>, "Writes the events that wait.");
  add("ImportEvent", WriteShape<kNone>, "Writes a serialized event to an event file.");
  add("SummaryWriter", ScalarShape, "A handle to a writer of an event file.");
  add("WriteAudioSummary", WriteShape<3>, "Writes sounds to an event file.");
  add("WriteGraphSummary", WriteShape<kNone>, "Writes a serialized graph to an event file.");
  add("WriteHistogramSummary", WriteShape<3>, "Writes a histogram of values to an event file.");
  add("WriteImageSummary", ImageShape, "Writes images to an event file.");
  add("WriteRawProtoSummary", WriteShape<kNone>, "Writes a serialized summary to an event file.");
  add("WriteScalarSummary", WriteShape<kNone>, "Writes a number to an event file.");
  add("WriteSummary", WriteShape<2>, "Writes a tensor to an event file.");
}
