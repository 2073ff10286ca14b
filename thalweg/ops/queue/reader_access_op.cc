// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status ReadUpToShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(2, 0).status());
  c.set_output(0, PartialShape{-1});
  c.set_output(1, PartialShape{-1});
  return OkStatus();
}

Status RestoreShape(ShapeContext& c) { return c.InputWithRank(1, 0).status(); }

constexpr const char* kRecords = "records have no derivative";

}  // namespace
}  // namespace thalweg

THALWEG_OP(reader_access) {
  const struct {
    std::string_view name;
    ShapeFn shape;
    std::string_view doc;
  } kAccesses[] = {
      {"ReaderNumRecordsProduced", ScalarShape, "How many records a reader has given."},
      {"ReaderNumWorkUnitsCompleted", ScalarShape, "How many files a reader has read."},
      {"ReaderRead", ScalarShape, "The next record of a reader, whose files come from a queue."},
      {"ReaderReadUpTo", ReadUpToShape, "The next records of a reader, all of one file."},
      {"ReaderReset", NoOutputs, "A reader as it was in the beginning."},
      {"ReaderRestoreState", RestoreShape, "A reader as it was when its state was taken."},
      {"ReaderSerializeState", ScalarShape, "What a reader has read, as a message."}};
  for (const auto& access : kAccesses) {
    for (const char* version : {"", "V2"}) {
      registry.Op(StrCat(access.name, version))
          .Shape(access.shape)
          .NotDifferentiable(kRecords)
          .Doc(access.doc);
    }
  }
}
