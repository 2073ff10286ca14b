// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/codec/pictures.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <vector>

#include "thalweg/compute/codec/test_pictures.h"
#include "thalweg/compute/codec/wav.h"

namespace thalweg::compute {
namespace {

constexpr int64_t kPlenty = int64_t{1} << 30;

// The files that the fuzzers begin with.
std::map<std::string, std::string> Files(const std::string& kind) {
  std::map<std::string, std::string> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(THALWEG_FUZZ_CORPORA) + "/" + kind)) {
    std::ifstream in(entry.path(), std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    files[entry.path().filename().string()] = text.str();
  }
  EXPECT_FALSE(files.empty()) << kind;
  return files;
}

Status Read(const std::string& kind, std::string_view file, const PictureHost& host) {
  if (kind == "jpeg") return ReadJpeg(file, {}, host);
  if (kind == "png") return ReadPng(file, 0, 8, host);
  return kind == "gif" ? ReadGif(file, false, host) : ReadBmp(file, 0, host);
}

// Also what leak and memory checkers look at: the libraries leave by jumps.
TEST(PicturesTest, EveryBeginningOfAFileIsAPictureOrAnError) {
  for (const std::string kind : {"jpeg", "png", "gif", "bmp"}) {
    int pictures = 0, errors = 0;
    for (const auto& [name, file] : Files(kind)) {
      const size_t step = 1 + file.size() / 60;
      for (size_t size = 0; size <= file.size(); size += step) {
        // A copy of this very size, beyond which nothing may be read.
        const std::vector<char> copy(file.data(), file.data() + size);
        TestPicture picture(kPlenty);
        const Status status = Read(kind, {copy.data(), size}, picture.host());
        if (status.ok()) {
          picture.Check();
          ++pictures;
        } else {
          EXPECT_EQ(status.code(), Code::kInvalidArgument) << name << ": " << status.ToString();
          EXPECT_NE(status.message().find_first_of("0123456789"), std::string::npos)
              << status.ToString();
          ++errors;
        }
        EXPECT_EQ(picture.other_bytes(), 0) << name;
      }
    }
    EXPECT_GT(pictures, 0) << kind;
    EXPECT_GT(errors, 0) << kind;
  }
}

TEST(PicturesTest, ALimitedAllocatorRefusesWhatAFileClaims) {
  const auto refused = [](const std::string& kind, const std::string& name) {
    const std::string file = Files(kind).at(name);
    TestPicture picture(4096);
    const Status status = Read(kind, file, picture.host());
    EXPECT_EQ(status.code(), Code::kResourceExhausted) << name << ": " << status.ToString();
    EXPECT_EQ(picture.other_bytes(), 0) << name;
  };
  refused("jpeg", "rgb420.jpg");
  refused("jpeg", "prog.jpg");  // its scans
  refused("png", "rgb.png");
  refused("gif", "one.gif");
}

TEST(PicturesTest, ClaimsBeyondAllLimitsAskForNoRoom) {
  const auto refused = [](const std::string& kind, const std::string& file, std::string_view why) {
    TestPicture picture(kPlenty);
    const Status status = Read(kind, file, picture.host());
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_NE(status.message().find(why), std::string_view::npos) << status.ToString();
    EXPECT_EQ(picture.size().rows, 0) << kind;
  };
  std::string jpeg = Files("jpeg").at("rgb420.jpg");
  const size_t frame = jpeg.find("\xff\xc0");
  jpeg.replace(frame + 5, 4, "\xff\xdc\xff\xdc");  // rows and columns
  refused("jpeg", jpeg, "pixels, more than 536870911");
  refused("png", Files("png").at("huge.png"), "the file claims 100000 rows of 100000 pixels");
  refused("bmp", Files("bmp").at("huge.bmp"), "less than 2^30");
  std::string gif = Files("gif").at("one.gif");
  const size_t image = gif.find(std::string(",\0\0\0\0", 5));
  gif.replace(image + 5, 4, "\xff\xff\xff\xff");
  refused("gif", gif, "the file claims 65535 rows of 65535 pixels");
}

TEST(PicturesTest, ErrorsSayWhatAndWhere) {
  const auto error = [](const std::string& kind, const std::string& name, size_t size) {
    TestPicture picture(kPlenty);
    const std::string file = Files(kind).at(name).substr(0, size);
    return std::string(Read(kind, file, picture.host()).message());
  };
  EXPECT_EQ(error("jpeg", "gray.jpg", 900),
            "jpeg::Uncompress failed. Invalid JPEG data or crop window, data size 900: the file "
            "ends at row 16 of 37");
  EXPECT_EQ(error("png", "rgb.png", 900),
            "Invalid PNG data, size 900: the file ends too early, at byte 900 of 900, row 0");
  EXPECT_EQ(
      error("gif", "one.gif", 800),
      "Invalid GIF data (size 800): failed to slurp gif file: Failed to read from given file, "
      "at byte 800 of 800");
}

// Many scans of few bytes each would keep a processor busy for minutes.
TEST(PicturesTest, AJpegHasALimitedNumberOfScans) {
  std::string file = Files("jpeg").at("prog.jpg");
  const size_t last = file.rfind("\xff\xda"), end = file.rfind("\xff\xd9");
  const std::string scan = file.substr(last, end - last);
  file.resize(end);
  for (int i = 0; i < 600; ++i) file += scan;
  file += "\xff\xd9";
  TestPicture picture(kPlenty);
  const Status status = ReadJpeg(file, {}, picture.host());
  EXPECT_NE(status.message().find("more than 500 scans"), std::string_view::npos)
      << status.ToString();
}

TEST(PicturesTest, WhatIsWrittenIsRead) {
  std::vector<uint8_t> pixels(7 * 5 * 4);
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(i * 37);
  for (int64_t channels = 1; channels <= 4; ++channels) {
    for (const int bits : {8, 16}) {
      TestPicture picture(kPlenty, bits / 8);
      const PictureSize size{1, 5, bits == 8 ? 7 : 3, channels};
      const auto file = WritePng(pixels.data(), size, bits, -1, picture.host());
      ASSERT_TRUE(file.ok()) << file.status().ToString();
      ASSERT_TRUE(ReadPng(*file, 0, bits, picture.host()).ok());
      EXPECT_EQ(picture.size().channels, channels);
      EXPECT_EQ(std::memcmp(picture.pixels(), pixels.data(), picture.bytes()), 0);
      TestPicture small(64);
      EXPECT_EQ(WritePng(pixels.data(), size, bits, -1, small.host()).status().code(),
                Code::kResourceExhausted);
      EXPECT_EQ(small.other_bytes(), 0);
    }
  }
}

// A window is the same pixels, whatever blocks it cuts.
TEST(PicturesTest, WindowsAreCutFromTheWhole) {
  for (const std::string name : {"rgb444.jpg", "gray.jpg", "cmyk.jpg"}) {
    const std::string file = Files("jpeg").at(name);
    TestPicture whole(kPlenty), part(kPlenty);
    ASSERT_TRUE(ReadJpeg(file, {}, whole.host()).ok());
    const JpegReading how{.crop = true, .top = 9, .left = 11, .rows = 13, .columns = 17};
    ASSERT_TRUE(ReadJpeg(file, how, part.host()).ok());
    const auto row = static_cast<size_t>(17 * part.size().channels);
    for (size_t y = 0; y < 13; ++y) {
      const size_t at = static_cast<size_t>(
          ((9 + static_cast<int64_t>(y)) * whole.size().columns + 11) * whole.size().channels);
      EXPECT_EQ(std::memcmp(part.pixels() + y * row, whole.pixels() + at, row), 0) << name << y;
    }
  }
}

TEST(WavTest, EveryBeginningOfAFileIsASoundOrAnError) {
  int sounds = 0;
  for (const auto& [name, file] : Files("wav")) {
    for (size_t size = 0; size <= file.size(); ++size) {
      const std::vector<char> copy(file.data(), file.data() + size);
      const auto sound = ReadWav16({copy.data(), size});
      if (!sound.ok()) {
        EXPECT_EQ(sound.status().code(), Code::kInvalidArgument) << name;
        continue;
      }
      ++sounds;
      std::vector<float> samples(static_cast<size_t>(sound->frames * sound->channels));
      WavSamples(*sound, sound->frames, sound->channels, samples.data());
      EXPECT_LE(samples.size() * 2, size) << name;
    }
  }
  EXPECT_GT(sounds, 0);
}

TEST(WavTest, CutsWhatIsTooLoud) {
  const float samples[] = {2, -2, 0};
  const auto file = EncodeWav16(samples, 1, 8000);
  ASSERT_TRUE(file.ok());
  ASSERT_EQ(file->size(), 44u + 6);
  EXPECT_EQ(file->substr(44, 2), "\xff\x7f");
  EXPECT_EQ(static_cast<uint8_t>((*file)[47]), 0x80);
  EXPECT_EQ(EncodeWav16(samples, 0, 8000).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(EncodeWav16(samples, 1, NAN).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace thalweg::compute
