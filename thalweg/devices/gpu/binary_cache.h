// SPDX-License-Identifier: Apache-2.0
// BinaryCache: compiled kernels in a folder, so that the next process need not compile them.
//
//   const BinaryCache cache("/home/me/.cache/thalweg/opencl");   // "" keeps nothing
//   std::string binary = cache.Read(key);                        // "" where there is none
//   if (binary.empty()) cache.Write(key, Compile());
//
// A file is believed only where it belongs to this user, nobody else may write it, its whole key is
// this one, and its checksum is right: a binary is code that will run.
// Ownership: a value; keeps no file open.
// Threads: any; files appear whole.
// Errors: none: what cannot be read or written is compiled again.
#pragma once

#include <string>

namespace thalweg {

class BinaryCache {
 public:
  explicit BinaryCache(std::string directory) : directory_(std::move(directory)) {}

  std::string Read(const std::string& key) const;
  void Write(const std::string& key, const std::string& binary) const;
  // Where a key's file is.
  std::string PathOf(const std::string& key) const;

 private:
  std::string directory_;
};

}  // namespace thalweg
