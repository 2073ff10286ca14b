// SPDX-License-Identifier: Apache-2.0
// Datasets of what stands in files, one after the other: lines, records, pieces of equal size.
//
//   DatasetPtr lines = LinesDataset({{"a.txt", "b.txt"}}, spec);
//
// A file is read in blocks as elements are asked for, and is open only then. A pass that goes on
// from its state reads a compressed file again, up to where it was.
// Ownership: a dataset owns its names; a pass owns the one file that it has open.
// Threads: datasets from any, stages as stage.h says.
// Errors: those of the file system, and DataLoss, each with the file's name and the offset in it.
// An error ends its file; the next element is of the next one.
#pragma once

#include <string>
#include <vector>

#include "thalweg/data/dataset.h"
#include "thalweg/io/block_file.h"

namespace thalweg {

struct FilesOptions {
  std::vector<std::string> files;
  BlockFileOptions reading;  // in what blocks, and how they are compressed, all of them
};

// What is asked before a part of a file is read that does not stand in one block: whether that much
// memory may be had, and whether it should go on. The poller outlives it.
MakeRoom FileRoom(const Poller& poller);

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
// between header and footer are no whole number of pieces; DataLoss at the end of a compressed one.
Result<DatasetPtr> PiecesDataset(FilesOptions options, const PiecesOptions& pieces,
                                 ElementSpec spec);

}  // namespace thalweg
