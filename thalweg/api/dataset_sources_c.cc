// SPDX-License-Identifier: Apache-2.0
// The functions of the C ABI that make datasets out of nothing: of tensors, numbers, files.
#include "thalweg/api/dataset_builder.h"

using namespace thalweg;       // NOLINT: the file is glue for this namespace
using namespace thalweg::api;  // NOLINT

namespace {

constexpr int64_t kBufferSize = int64_t{256} * 1024;

std::string TextOr(const char* text, const char* otherwise) {
  return text == nullptr ? otherwise : text;
}

struct FileReading {
  std::string compression;
  int64_t buffer_size = kBufferSize;
};

FileReading ReadingOf(const TwFileOptions* given) {
  const TwFileOptions options = CopyOptions(given, TwFileOptions{});
  return {TextOr(options.compression, ""),
          options.buffer_size == 0 ? kBufferSize : options.buffer_size};
}

// What component specs of a program say.
Result<ElementSpec> UnwrapSpecs(const TwTensorSpec* specs, int32_t n) {
  RETURN_IF_ERROR(CheckArray(specs, n, "component"));
  ElementSpec spec;
  for (int32_t i = 0; i < n; ++i) {
    ASSIGN_OR_RETURN(const DType dtype, CheckedDType(specs[i].dtype));
    spec.types.push_back(dtype);
    ASSIGN_OR_RETURN(PartialShape shape, UnwrapShape(specs[i]));
    spec.shapes.push_back(std::move(shape));
  }
  return spec;
}

// Texts out of files whose records say themselves where they end.
const TwDataset* TextsOf(TwDatasetBuilder* builder, const char* stage_name, const char* op,
                         TwOutput files, const TwFileOptions* options) {
  return MakeDataset(builder, stage_name, [&](DatasetStage& stage) -> TwDataset {
    const FileReading reading = ReadingOf(options);
    const Output of = stage.Given(files, "the files");
    return {
        stage.Op(op, {of, stage.Scalar(reading.compression), stage.Scalar(reading.buffer_size)}),
        {{DType::kString}, {PartialShape(Shape())}}};
  });
}

// A dataset of tensors as they are, or of their rows.
const TwDataset* FromTensors(TwDatasetBuilder* builder, const char* stage_name, const char* op,
                             const TwOutput* components, int32_t n, bool is_rows) {
  return MakeDataset(builder, stage_name, [&](DatasetStage& stage) -> TwDataset {
    const std::vector<Output> given = stage.Given(components, n, "component");
    if (n == 0) stage.Fail(InvalidArgument("no components"));
    ElementSpec spec = SpecOf(given);
    if (is_rows) spec = RowsOf(stage, std::move(spec));
    return {stage.Op(op, given, {{"output_shapes", spec.shapes}}), spec};
  });
}

}  // namespace

extern "C" {

const TwDataset* tw_dataset_from_tensors(TwDatasetBuilder* builder, const TwOutput* components,
                                         int32_t n) {
  return FromTensors(builder, "FromTensors", "TensorDataset", components, n, false);
}

const TwDataset* tw_dataset_from_tensor_slices(TwDatasetBuilder* builder,
                                               const TwOutput* components, int32_t n) {
  return FromTensors(builder, "FromTensorSlices", "TensorSliceDataset", components, n, true);
}

const TwDataset* tw_dataset_range(TwDatasetBuilder* builder, TwCount start, TwCount stop,
                                  TwCount step) {
  return MakeDataset(builder, "Range",
                     [&](DatasetStage& stage) { return RangeOf(stage, start, stop, step); });
}

const TwDataset* tw_dataset_list_files(TwDatasetBuilder* builder, const char* pattern,
                                       int32_t shuffle, const int64_t* seed) {
  return MakeDataset(builder, "ListFiles", [&](DatasetStage& stage) -> TwDataset {
    if (!stage.Require(pattern, "the pattern")) return {};
    const Output found = stage.Op("MatchingFiles", {stage.Scalar<std::string>(pattern)});
    const Output size = stage.Op("Size", {found}, {{"out_type", DType::kInt64}});
    const Output is_some = stage.Op("Greater", {size, stage.Scalar<int64_t>(0)});
    const Output none = stage.Scalar(StrCat("No files matched pattern: ", pattern));
    Node* const some = stage.OpNode("Assert", {is_some, none}, {{"summarize", 1}});
    const Output checked = {stage.OpNode("Identity", {found}, {}, {some}), 0};
    const ElementSpec names = {{DType::kString}, {PartialShape(Shape())}};
    TwDataset made = {stage.Op("TensorSliceDataset", {checked}, {{"output_shapes", names.shapes}}),
                      names};
    if (shuffle == 0) return made;
    const Output buffer = stage.Op("Maximum", {size, stage.Scalar<int64_t>(1)});
    return ShuffledOf(stage, &made, buffer, seed, true);
  });
}

const TwDataset* tw_dataset_text_lines(TwDatasetBuilder* builder, TwOutput files,
                                       const TwFileOptions* options) {
  return TextsOf(builder, "TextLines", "TextLineDataset", files, options);
}

const TwDataset* tw_dataset_tf_records(TwDatasetBuilder* builder, TwOutput files,
                                       const TwFileOptions* options) {
  return TextsOf(builder, "TFRecords", "TFRecordDataset", files, options);
}

const TwDataset* tw_dataset_fixed_length_records(TwDatasetBuilder* builder, TwOutput files,
                                                 TwCount record_bytes, TwCount header_bytes,
                                                 TwCount footer_bytes,
                                                 const TwFileOptions* options) {
  return MakeDataset(builder, "FixedLengthRecords", [&](DatasetStage& stage) -> TwDataset {
    const FileReading reading = ReadingOf(options);
    const Output of = stage.Given(files, "the files");
    return {stage.Op("FixedLengthRecordDatasetV2",
                     {of, stage.Number(header_bytes), stage.Number(record_bytes),
                      stage.Number(footer_bytes), stage.Scalar(reading.buffer_size),
                      stage.Scalar(reading.compression)}),
            {{DType::kString}, {PartialShape(Shape())}}};
  });
}

const TwDataset* tw_dataset_csv(TwDatasetBuilder* builder, TwOutput files, TwTensor* const* fields,
                                int32_t n, const TwCsvOptions* given) {
  return MakeDataset(builder, "Csv", [&](DatasetStage& stage) -> TwDataset {
    const TwCsvOptions options = CopyOptions(given, TwCsvOptions{});
    const FileReading reading = ReadingOf(options.files);
    stage.Fail(CheckArray(fields, n, "field"));
    stage.Fail(CheckArray(options.select_columns, options.num_select_columns, "column"));
    if (!stage.ok()) return {};
    const std::vector<int64_t> columns(options.select_columns,
                                       options.select_columns + options.num_select_columns);
    const std::string delimiter(1, options.delimiter == 0 ? ',' : options.delimiter);
    std::vector<Output> inputs = {stage.Given(files, "the files"),
                                  stage.Scalar(reading.compression),
                                  stage.Scalar(reading.buffer_size),
                                  stage.Scalar(options.header != 0),
                                  stage.Scalar(delimiter),
                                  stage.Scalar(options.no_quotes == 0),
                                  stage.Scalar(TextOr(options.missing, "")),
                                  stage.Vector(columns)};
    ElementSpec spec;
    for (int32_t i = 0; i < n; ++i) {
      if (!stage.Require(fields[i], "a field")) return {};
      inputs.push_back(stage.Const(fields[i]->tensor));
      spec.types.push_back(fields[i]->tensor.dtype());
      spec.shapes.push_back(PartialShape(Shape()));
    }
    return stage.Source("CSVDataset", std::move(inputs), std::move(spec));
  });
}

const TwDataset* tw_dataset_from_output(TwDatasetBuilder* builder, TwOutput variant,
                                        const TwTensorSpec* components, int32_t n) {
  return MakeDataset(builder, "FromOutput", [&](DatasetStage& stage) -> TwDataset {
    Result<ElementSpec> spec = UnwrapSpecs(components, n);
    if (!spec.ok()) {
      stage.Fail(spec.status());
      return {};
    }
    const Output made = stage.Given(variant, "the dataset");
    if (stage.ok() && made.node->output_type(made.index) != DType::kVariant) {
      stage.Fail(InvalidArgument("a dataset is a variant, got a tensor of type ",
                                 made.node->output_type(made.index)));
    }
    return {made, *std::move(spec)};
  });
}

}  // extern "C"
