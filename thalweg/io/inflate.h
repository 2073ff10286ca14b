// SPDX-License-Identifier: Apache-2.0
// What was compressed with zlib or gzip, a text as a whole or a file from its beginning to its end.
//
//   ASSIGN_OR_RETURN(const Compression kind, CompressionNamed("GZIP"));
//   ASSIGN_OR_RETURN(std::string text, Inflate(bytes, kind, make_room));
//   ASSIGN_OR_RETURN(file, OpenInflated(std::move(file), path, kind));   // read in order only
//
// Few bytes may become very many: make_room is asked, piece by piece, before they are taken.
// Ownership: a file that is opened owns the one beneath it.
// Threads: one for each file.
// Errors: DataLoss with the place in the compressed bytes; Unimplemented without
// libthalweg_zlib.so.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "thalweg/base/file_system.h"
#include "thalweg/base/status.h"

namespace thalweg {

enum class Compression : uint8_t { kNone, kZlib, kGzip };
// "", "ZLIB" or "GZIP".
Result<Compression> CompressionNamed(std::string_view name);

// Asked for all bytes so far and the next piece.
using MakeRoom = std::function<Status(uint64_t)>;
Result<std::string> Inflate(std::string_view bytes, Compression kind, const MakeRoom& make_room);

// A file of what `file` holds compressed; kNone gives it back. Its size is unknown: Size() is
// Unimplemented, and each Read goes on where the last one ended. A Read gives fewer bytes than are
// asked for also before damage, which the next one tells.
Result<std::unique_ptr<RandomAccessFile>> OpenInflated(std::unique_ptr<RandomAccessFile> file,
                                                       std::string path, Compression kind);

}  // namespace thalweg
