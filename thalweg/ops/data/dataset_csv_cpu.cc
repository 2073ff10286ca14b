// SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/csv_source.h"
#include "thalweg/ops/data/dataset_kernel.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

// Arguments: files, compression, buffer, header, delimiter, quotes, missing, columns, then a
// default for each field. `excludes`: after those, the columns to leave out.
Result<DatasetPtr> MakeCsvOf(Context& ctx, const DatasetAttrs& attrs, bool excludes) {
  FilesOptions files;
  ASSIGN_OR_RETURN(files.files, TextsArgument(ctx, 0, "filenames"));
  ASSIGN_OR_RETURN(files.reading.compression, CompressionArgument(ctx, 1));
  ASSIGN_OR_RETURN(files.reading.block_bytes, IntArgument(ctx, 2, "buffer_size"));
  if (files.reading.block_bytes <= 0) return InvalidArgument("buffer_size should be positive");
  CsvOptions options;
  ASSIGN_OR_RETURN(options.header, BoolArgument(ctx, 3, "header"));
  ASSIGN_OR_RETURN(const std::string delimiter, TextArgument(ctx, 4, "field_delim"));
  if (delimiter.size() != 1) return InvalidArgument("field_delim should be only 1 char");
  options.delimiter = delimiter[0];
  ASSIGN_OR_RETURN(options.quotes, BoolArgument(ctx, 5, "use_quote_delim"));
  ASSIGN_OR_RETURN(options.missing, TextArgument(ctx, 6, "na_value"));
  if (ctx.input(7).rank() != 1) {
    return InvalidArgument("`select_cols` must be a vector, got ", ctx.input(7).shape());
  }
  for (const int64_t column : ctx.input(7).flat<int64_t>()) options.columns.push_back(column);
  const int end = ctx.num_inputs() - (excludes ? 1 : 0);
  for (int i = 8; i < end; ++i) options.defaults.push_back(ctx.input(i));
  if (excludes && ctx.input(end).num_elements() != 0) {
    if (!options.columns.empty()) {
      return InvalidArgument("Either select_cols or exclude_cols should be empty");
    }
    options.excludes = true;
    for (const int64_t column : ctx.input(end).flat<int64_t>()) options.columns.push_back(column);
  }
  return CsvDataset(std::move(files), std::move(options), attrs.spec);
}

Result<DatasetPtr> MakeCsv(Context& ctx, const DatasetAttrs& attrs) {
  return MakeCsvOf(ctx, attrs, false);
}

Result<DatasetPtr> MakeCsvV2(Context& ctx, const DatasetAttrs& attrs) {
  return MakeCsvOf(ctx, attrs, true);
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(dataset_csv, cpu) {
  AddDataset<MakeCsv>(registry, "CSVDataset");
  AddDataset<MakeCsv>(registry, "ExperimentalCSVDataset");
  AddDataset<MakeCsvV2>(registry, "CSVDatasetV2");
}
