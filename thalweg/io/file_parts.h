// SPDX-License-Identifier: Apache-2.0
// What files consist of, one after the other: the lines of a text, the records of a TFRecord file.
//
//   ASSIGN_OR_RETURN(BlockFile file, BlockFile::Open(fs, "train.tfrecord"));
//   while (true) {
//     ASSIGN_OR_RETURN(std::optional<std::string_view> record, NextRecord(file));
//     if (!record) break;
//   }
//
// Ownership: a part is the file's, until it is asked for the next one.
// Threads: those of the file.
// Errors: DataLoss with file and offset for what is not as it should be; the file's; that of
// `make_room`, which is asked for the bytes of a part before they are read. Nothing is taken then:
// the same call gives the same again.
#pragma once

#include <optional>
#include <string_view>

#include "thalweg/io/block_file.h"

namespace thalweg {

// Up to the next "\n", which is not part of it, or the end of the file.
Result<std::optional<std::string_view>> NextLine(BlockFile& file, const MakeRoom& make_room = {});

// A record: length (fixed64), its masked CRC-32C, the bytes, theirs. A file that ends within the
// twelve bytes before a record ends there, as for TensorFlow's reader.
Result<std::optional<std::string_view>> NextRecord(BlockFile& file, const MakeRoom& make_room = {});

}  // namespace thalweg
