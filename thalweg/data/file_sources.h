// SPDX-License-Identifier: Apache-2.0
// Datasets of what stands in files, one after the other: lines, records, pieces of equal size.
//
//   DatasetPtr lines = LinesDataset({{"a.txt", "b.txt"}}, spec);
//
// A file is read in blocks as elements are asked for, and is open only then.
// Errors: those of the file system, and DataLoss, each with the file's name and the offset in it. An
// error ends its file; the next element is of the next one.
#pragma once

#include <string>
#include <vector>

#include "thalweg/data/dataset.h"

namespace thalweg {

struct FilesOptions {
  std::vector<std::string> files;
  int64_t block_bytes = int64_t{256} << 10;  // read at once
};

// Without "\n" or "\r\n" at their ends.
DatasetPtr LinesDataset(FilesOptions options, ElementSpec spec);
// The records of TFRecord files; every checksum is checked.
DatasetPtr RecordsDataset(FilesOptions options, ElementSpec spec);

struct PiecesOptions {
  int64_t header_bytes = 0;
  int64_t piece_bytes = 0;
  int64_t footer_bytes = 0;
};
// InvalidArgument for negative sizes, and where the element is asked for, for a file whose bytes
// between header and footer are no whole number of pieces.
Result<DatasetPtr> PiecesDataset(FilesOptions options, const PiecesOptions& pieces,
                                 ElementSpec spec);

}  // namespace thalweg
