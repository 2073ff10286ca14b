// SPDX-License-Identifier: Apache-2.0
// For tests of this room: the golden files under tests/golden that hold one message each.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "thalweg/proto/message.h"

namespace thalweg {

struct GoldenFile {
  std::string name;  // for messages of a failed test
  std::string path;
  const MessageDescriptor* type;
};

inline std::string ReadGolden(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.good()) << path;
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// All binary messages; with_text: only those that have their text form beside them.
inline std::vector<GoldenFile> GoldenFiles(bool with_text) {
  std::vector<GoldenFile> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(THALWEG_GOLDEN_DIR)) {
    const std::filesystem::path& path = entry.path();
    const std::string name = path.filename().string();
    const MessageDescriptor* type = nullptr;
    if (name == "saved_model.pb") {
      type = &pb::SavedModel::Descriptor();
    } else if (name == "run_metadata.pb") {
      type = &pb::RunMetadata::Descriptor();
    } else if (path.extension() == ".meta") {
      type = &pb::MetaGraphDef::Descriptor();
    } else if (path.extension() == ".pb" &&
               path.parent_path().parent_path().filename() == "graphs") {
      type = &pb::GraphDef::Descriptor();
    }
    if (type == nullptr || (with_text && !std::filesystem::exists(path.string() + "txt"))) continue;
    files.push_back(
        {std::filesystem::relative(path, THALWEG_GOLDEN_DIR).string(), path.string(), type});
  }
  std::sort(files.begin(), files.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return files;
}

}  // namespace thalweg
