// SPDX-License-Identifier: Apache-2.0
// A folder of JPEGs, PART/CLASS/NUMBER.jpg: the user's, or the handwritten digits of examples/data,
// written there as pictures of 32x32 pixels and removed at the end.
//
//   const Pictures pictures(argc > 1 ? argv[1] : "");
//   pictures.folder();   // pictures.folder() + "/train/7/12.jpg"
//   pictures.classes();  // the names of the folders in "train", sorted
//
// Ownership: the user's folder stays; the one it wrote itself goes with it.
// Threads: the caller's alone.
// Errors: thrown as tw::Error and std::filesystem::filesystem_error.
#pragma once

#include <thalweg/thalweg.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "digits.h"

class Pictures {
 public:
  explicit Pictures(const std::string& given) : folder_(given), is_ours_(given.empty()) {
    if (is_ours_) WriteDigits();
    for (const auto& entry : std::filesystem::directory_iterator(folder_ + "/train")) {
      classes_.push_back(entry.path().filename().string());
    }
    std::sort(classes_.begin(), classes_.end());
  }
  Pictures(const Pictures&) = delete;
  Pictures& operator=(const Pictures&) = delete;
  ~Pictures() {
    std::error_code ignored;
    if (is_ours_) std::filesystem::remove_all(folder_, ignored);
  }
  const std::string& folder() const { return folder_; }
  const std::vector<std::string>& classes() const { return classes_; }

 private:
  static constexpr int kSide = 32, kScale = 4;

  void WriteDigits() {
    const Digits digits = LoadDigits(DIGITS_FOLDER);
    const auto temporary = std::filesystem::temp_directory_path();
    folder_ = (temporary / ("thalweg_pictures_" + std::to_string(getpid()))).string();
    const tw::Environment environment = tw::Environment::Create().OrThrow();
    tw::Graph g(environment);
    const tw::Output image = g.Placeholder("image", tw::kUint8, {kSide, kSide, 1});
    const tw::Output jpeg = g.Op("EncodeJpeg", {image});
    tw::Session session = tw::Session::Create(g).OrThrow();
    const auto write = [&](const std::string& part, const DigitsPart& rows) {
      for (size_t row = 0; row < rows.labels.size(); ++row) {
        const std::string folder = folder_ + "/" + part + "/" + std::to_string(rows.labels[row]);
        std::filesystem::create_directories(folder);
        const tw::Tensor pixels = Large(&rows.images[64 * row]);
        std::ofstream(folder + "/" + std::to_string(row) + ".jpg", std::ios::binary)
            << session.Run({{image, pixels}}, {jpeg}).OrThrow()[0].string();
      }
    };
    write("train", digits.train);
    write("test", digits.test);
  }

  static tw::Tensor Large(const float* digit) {
    std::vector<uint8_t> pixels;
    for (int y = 0; y < kSide; ++y) {
      for (int x = 0; x < kSide; ++x) {
        pixels.push_back(static_cast<uint8_t>(255 * digit[y / kScale * 8 + x / kScale]));
      }
    }
    return tw::Tensor::Of<uint8_t>(pixels, {kSide, kSide, 1});
  }

  std::string folder_;
  bool is_ours_;
  std::vector<std::string> classes_;
};
