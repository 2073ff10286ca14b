// SPDX-License-Identifier: Apache-2.0
// NumPy's files: an array as .npy, several as .npz.
//
//   tw::Tensor x = ReadNpy("x.npy");                         // throws FileError
//   WriteNpz("out.npz", {{"y", y}, {"scores", scores}});
//   for (const auto& [name, array] : ReadNpz("out.npz")) ...
//
// Little-endian numbers in C order, and texts: read as bytes (S) or UTF-8 (U), without the zeros at
// their ends, written as bytes. Objects and structures are refused. An .npz is a zip
// archive whose members are stored, not compressed, each below 4 GB.
// Ownership: arrays own their memory.
// Threads: any, on distinct files.
// Errors: throws FileError that names the file and what is wrong in it.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "thalweg/thalweg.h"

namespace cli {

// A file that cannot be read, written or understood; the message names it.
struct FileError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::string ReadFile(const std::string& path);
void WriteFile(const std::string& path, const std::string& bytes);

tw::Tensor ReadNpy(const std::string& path);
// The bytes of an .npy file, and back; `name` is for messages.
std::string NpyOf(const tw::Tensor& tensor, const std::string& name);
tw::Tensor ParseNpy(const std::string& bytes, const std::string& name);
// Whether NumPy has a type for such elements.
bool HasNpyType(TwDataType dtype);

using NamedArrays = std::vector<std::pair<std::string, tw::Tensor>>;
NamedArrays ReadNpz(const std::string& path);
void WriteNpz(const std::string& path, const NamedArrays& arrays);

}  // namespace cli
