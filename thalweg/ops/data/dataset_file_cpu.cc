// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "thalweg/base/file_system.h"
#include "thalweg/data/file_sources.h"
#include "thalweg/data/memory_sources.h"
#include "thalweg/io/matching_paths.h"
#include "thalweg/ops/data/dataset_kernel.h"

namespace thalweg {
namespace {

// `compression`: the input that names it, if there is one.
Result<FilesOptions> FilesArgument(const Context& ctx, int buffer_size, int compression) {
  FilesOptions options;
  ASSIGN_OR_RETURN(options.files, TextsArgument(ctx, 0, "filenames"));
  ASSIGN_OR_RETURN(const int64_t block, IntArgument(ctx, buffer_size, "buffer_size"));
  if (block < 0) {
    return InvalidArgument("`buffer_size` must be >= 0 (0 == default), got ", block);
  }
  if (block > 0) options.reading.block_bytes = block;
  if (compression < ctx.num_inputs()) {
    ASSIGN_OR_RETURN(options.reading.compression, CompressionArgument(ctx, compression));
  }
  return options;
}

Result<DatasetPtr> MakeLines(Context& ctx, const DatasetAttrs& attrs) {
  ASSIGN_OR_RETURN(FilesOptions options, FilesArgument(ctx, 2, 1));
  return LinesDataset(std::move(options), attrs.spec);
}

Result<DatasetPtr> MakeRecords(Context& ctx, const DatasetAttrs& attrs) {
  ASSIGN_OR_RETURN(FilesOptions options, FilesArgument(ctx, 2, 1));
  return RecordsDataset(std::move(options), attrs.spec);
}

Result<DatasetPtr> MakePieces(Context& ctx, const DatasetAttrs& attrs) {
  ASSIGN_OR_RETURN(FilesOptions options, FilesArgument(ctx, 4, 5));
  PiecesOptions pieces;
  ASSIGN_OR_RETURN(pieces.header_bytes, IntArgument(ctx, 1, "header_bytes"));
  ASSIGN_OR_RETURN(pieces.piece_bytes, IntArgument(ctx, 2, "record_bytes"));
  ASSIGN_OR_RETURN(pieces.footer_bytes, IntArgument(ctx, 3, "footer_bytes"));
  return PiecesDataset(std::move(options), pieces, attrs.spec);
}

// Gives the files of one pattern after the other, each sorted.
Result<DatasetPtr> MakeMatching(Context& ctx, const DatasetAttrs& attrs) {
  ASSIGN_OR_RETURN(const std::vector<std::string> patterns, TextsArgument(ctx, 0, "patterns"));
  PosixFileSystem fs;
  std::vector<std::string> found;
  for (const std::string& pattern : patterns) {
    if (ctx.work().cancelled()) return CancelledStep();
    ASSIGN_OR_RETURN(const std::vector<std::string> some, MatchingPaths(fs, pattern));
    found.insert(found.end(), some.begin(), some.end());
  }
  ASSIGN_OR_RETURN(Tensor names,
                   Tensor::AllocateHost(DType::kString, Shape{static_cast<int64_t>(found.size())}));
  std::move(found.begin(), found.end(), names.mutable_data<std::string>());
  return SliceDataset({std::move(names)}, attrs.spec);
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(dataset_file, cpu) {
  AddDataset<MakeLines>(registry, "TextLineDataset");
  AddDataset<MakeRecords>(registry, "TFRecordDataset");
  AddDataset<MakeMatching>(registry, "MatchingFilesDataset");
  AddDataset<MakeMatching>(registry, "ExperimentalMatchingFilesDataset");
  AddDataset<MakePieces>(registry, "FixedLengthRecordDataset");
  AddDataset<MakePieces>(registry, "FixedLengthRecordDatasetV2");
}
