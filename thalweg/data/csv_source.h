// SPDX-License-Identifier: Apache-2.0
// A dataset of the records of CSV files: a number or a text of each field, as RFC 4180 has them.
//
//   ASSIGN_OR_RETURN(DatasetPtr records, CsvDataset(files, {.defaults = defaults}, spec));
//
// Ownership: a dataset owns its options; the files are open during a pass.
// Threads: datasets from any, stages as stage.h says.
// Errors: InvalidArgument, in TensorFlow's words, for a record that is none; the next element is of
// the next record. An error of the file system ends its file.
#pragma once

#include <string>
#include <vector>

#include "thalweg/data/file_sources.h"

namespace thalweg {

struct CsvOptions {
  bool header = false;  // the first record of each file is none
  char delimiter = ',';
  bool quotes = true;   // fields may be quoted
  std::string missing;  // a field of this text is as one without any
  // Which fields count, in ascending order; empty: all. `excludes`: which do not.
  std::vector<int64_t> columns;
  bool excludes = false;
  // What each field that counts is where it is missing. One without an element must be there.
  std::vector<Tensor> defaults;
};
// float, double, int32, int64 and string fields; InvalidArgument for options that make no sense.
Result<DatasetPtr> CsvDataset(FilesOptions files, CsvOptions options, ElementSpec spec);

}  // namespace thalweg
