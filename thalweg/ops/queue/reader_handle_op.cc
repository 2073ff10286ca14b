// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status ReaderHandleOutput(ShapeContext& c) {
  const bool is_reference = c.node().output_type(0) == DType::kString;
  c.set_output(0, is_reference ? PartialShape{2} : PartialShape(Shape()));
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(reader_handle) {
  constexpr std::pair<std::string_view, std::string_view> kReaders[] = {
      {"FixedLengthRecordReader", "A reader of records of so many bytes."},
      {"IdentityReader", "A reader that gives its work as key and value."},
      {"TFRecordReader", "A reader of the records of TFRecord files."},
      {"TextLineReader", "A reader of lines."},
      {"WholeFileReader", "A reader of whole files."}};
  for (const auto& [name, doc] : kReaders) {
    for (const char* version : {"", "V2"}) {
      registry.Op(StrCat(name, version))
          .Shape(ReaderHandleOutput)
          .NotDifferentiable("a reader has no inputs")
          .Doc(doc);
    }
  }
  registry.Op("LMDBReader")
      .Shape(ReaderHandleOutput)
      .NotDifferentiable("a reader has no inputs")
      .Doc("A reader of the pairs in LMDB databases; there is no second version of it.");
}
