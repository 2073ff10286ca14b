// SPDX-License-Identifier: Apache-2.0
// Checkpoints of format V1 against the golden files of both releases, and damage.
#include <gmock/gmock.h>

#include <cstring>

#include "thalweg/base/test_temporary_directory.h"
#include "thalweg/io/slice_file_reader.h"
#include "thalweg/io/slice_file_writer.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire.h"
#include "thalweg/tensor/values_proto.h"

namespace thalweg {
namespace {

using ::testing::HasSubstr;

class SliceFileTest : public testing::Test {
 protected:
  static std::string Golden(const std::string& release, const std::string& file) {
    return StrCat(THALWEG_GOLDEN_DIR, "/checkpoints/", release, "/v1/", file);
  }
  std::string Path(const std::string& name) const { return directory_.Path(name); }
  // The last of all tensors.
  Result<Tensor> ReadAll(const std::string& path) {
    ASSIGN_OR_RETURN(const auto reader, SliceFileReader::Open(fs_, path));
    Tensor last;
    for (const std::string& name : reader->Names()) {
      ASSIGN_OR_RETURN(last, reader->Read(name, *allocator_));
    }
    return last;
  }
  // A file with this header and these records.
  std::string Forged(const Message& header,
                     const std::vector<std::pair<std::string, Tensor>>& rows) {
    const std::string path = Path("forged");
    auto file = *fs_.CreateTemporary(path);
    TableWriter table(*file);
    EXPECT_TRUE(table.Add("", *Serialize(header)).ok());
    for (const auto& [name, value] : rows) {
      TensorSlice whole;
      whole.extents.resize(1);
      OwnedMessage record(pb::SavedTensorSlices::Descriptor());
      Message* const slice = record->Mutable(pb::SavedTensorSlices::kData);
      slice->SetString(pb::SavedSlice::kName, name);
      EXPECT_TRUE(ValuesToProto(value, slice->Mutable(pb::SavedSlice::kData)).ok());
      EXPECT_TRUE(table.Add(SliceKey(name, whole), *Serialize(*record)).ok());
    }
    EXPECT_TRUE(table.Finish().ok() && file->Close().ok() && fs_.Rename(file->path(), path).ok());
    return path;
  }
  // Says that there is a vector "v" of so many elements, in `slices` whole slices.
  static OwnedMessage Header(int64_t elements, int slices, int dtype = 1) {
    OwnedMessage header(pb::SavedTensorSlices::Descriptor());
    Message* const tensor =
        header->Mutable(pb::SavedTensorSlices::kMeta)->Add(pb::SavedTensorSliceMeta::kTensor);
    tensor->SetString(pb::SavedSliceMeta::kName, "v");
    tensor->SetInt(pb::SavedSliceMeta::kType, dtype);
    tensor->Mutable(pb::SavedSliceMeta::kShape)
        ->Add(pb::TensorShapeProto::kDim)
        ->SetInt(pb::TensorShapeProto::Dim::kSize, elements);
    for (int i = 0; i < slices; ++i) {
      tensor->Add(pb::SavedSliceMeta::kSlice)->Add(pb::TensorSliceProto::kExtent);
    }
    return header;
  }

  PosixFileSystem fs_;
  AllocatorPtr allocator_ = MakeCpuAllocator();
  TemporaryDirectory directory_;
};

TEST_F(SliceFileTest, WhatTheReleasesWroteByteForByte) {
  for (const std::string release : {"1.15", "2.21"}) {
    for (const char* name : {"model.ckpt", "typed.ckpt"}) {
      const std::string golden = Golden(release, name), copy = Path(release + name);
      auto reader = SliceFileReader::Open(fs_, golden);
      ASSERT_TRUE(reader.ok()) << reader.status().ToString();
      auto writer = *SliceFileWriter::Create(fs_, copy);
      EXPECT_FALSE((*reader)->Names().empty());
      for (const std::string& tensor : (*reader)->Names()) {
        const SliceFileReader::Entry& entry = *(*reader)->Find(tensor);
        for (const auto& [file, slice] : entry.slices) {
          const Result<Tensor> value = (*reader)->ReadSlice(tensor, slice, *allocator_);
          ASSERT_TRUE(value.ok()) << value.status().ToString();
          ASSERT_TRUE(writer->AddSlice(tensor, entry.shape, slice, *value).ok());
        }
      }
      ASSERT_TRUE(writer->Finish().ok());
      EXPECT_EQ(*ReadFile(fs_, copy), *ReadFile(fs_, golden)) << golden;
    }
  }
}

TEST_F(SliceFileTest, ShardsAreReadTogether) {
  for (const char* release : {"1.15", "2.21"}) {
    const auto reader =
        SliceFileReader::Open(fs_, Golden(release, "sharded.ckpt-\?\?\?\?\?-of-00003"));
    ASSERT_TRUE(reader.ok()) << reader.status().ToString();
    EXPECT_GE((*reader)->Names().size(), 3u);
    EXPECT_TRUE(ReadAll(Golden(release, "sharded.ckpt-*")).ok());
  }
}

TEST_F(SliceFileTest, EveryTypeComesBack) {
  for (int number = 1; number <= 23; ++number) {
    const auto dtype = static_cast<DType>(number);
    if (!IsSliceFileType(dtype)) continue;
    Tensor value = *Tensor::AllocateHost(dtype, Shape{3, 2});
    if (dtype == DType::kString) {
      value.mutable_data<std::string>()[1] = std::string("a\0b", 3);
    } else {
      auto* const bytes = static_cast<uint8_t*>(value.mutable_raw_data());
      for (size_t i = 0; i < value.bytes(); ++i) {
        bytes[i] = static_cast<uint8_t>(dtype == DType::kBool ? i % 2 : 37 * i + 120);
      }
    }
    auto writer = *SliceFileWriter::Create(fs_, Path("typed"));
    ASSERT_TRUE(writer->Add("t", value).ok());
    ASSERT_TRUE(writer->Finish().ok());
    const Result<Tensor> found = ReadAll(Path("typed"));
    ASSERT_TRUE(found.ok()) << found.status().ToString();
    EXPECT_EQ(found->shape(), value.shape());
    if (dtype == DType::kString) {
      EXPECT_EQ(found->data<std::string>()[1], value.data<std::string>()[1]);
    } else {
      EXPECT_EQ(std::memcmp(found->raw_data(), value.raw_data(), value.bytes()), 0)
          << DTypeName(dtype);
    }
  }
}

TEST_F(SliceFileTest, LargeAndEmptyTensors) {
  auto writer = *SliceFileWriter::Create(fs_, Path("large"));
  Tensor large = *Tensor::AllocateHost(DType::kFloat, Shape{300000});
  for (int i = 0; i < 300000; ++i) large.mutable_data<float>()[i] = static_cast<float>(i);
  ASSERT_TRUE(writer->Add("z", large).ok());
  ASSERT_TRUE(writer->Add("empty", *Tensor::AllocateHost(DType::kDouble, Shape{0, 3})).ok());
  ASSERT_TRUE(writer->Add("a", large).ok());
  ASSERT_TRUE(writer->Finish().ok());
  const auto reader = *SliceFileReader::Open(fs_, Path("large"));
  EXPECT_EQ(reader->Read("empty", *allocator_)->shape(), (Shape{0, 3}));
  EXPECT_EQ(reader->Read("z", *allocator_)->data<float>()[299999], 299999.0f);
  EXPECT_EQ(reader->ReadSlice("a", *TensorSlice::Parse("7,2"), *allocator_)->data<float>()[1], 8);
}

TEST_F(SliceFileTest, FlippedBitsAndTruncationAreErrors) {
  const std::string bytes = *ReadFile(fs_, Golden("2.21", "model.ckpt"));
  for (size_t at = 0; at < bytes.size(); at += 7) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 16);
    ASSERT_TRUE(WriteFileAtomically(fs_, Path("changed"), changed).ok());
    // What pads the footer is nobody's.
    if (at + 48 < bytes.size()) {
      EXPECT_FALSE(ReadAll(Path("changed")).ok()) << "byte " << at;
    }
    ASSERT_TRUE(WriteFileAtomically(fs_, Path("changed"), bytes.substr(0, at)).ok());
    EXPECT_EQ(ReadAll(Path("changed")).status().code(), Code::kDataLoss);
  }
}

TEST_F(SliceFileTest, WhatAHeaderClaimsMustBeThere) {
  const Tensor three = Tensor::Vector<float>({1, 2, 3});
  EXPECT_TRUE(ReadAll(Forged(*Header(3, 1), {{"v", three}})).ok());
  const auto message = [&](const OwnedMessage& header, Code code = Code::kDataLoss) {
    const Status status = ReadAll(Forged(*header, {{"v", three}})).status();
    EXPECT_EQ(status.code(), code) << status.ToString();
    return std::string(status.message());
  };
  EXPECT_THAT(message(Header(int64_t{1} << 40, 1)), HasSubstr("has not the 1099511627776 values"));
  EXPECT_THAT(message(Header(2, 1)), HasSubstr("has not the 2 values"));
  EXPECT_THAT(message(Header(3, 2)), HasSubstr("overlap"));
  EXPECT_THAT(message(Header(3, 0), Code::kInvalidArgument), HasSubstr("only 0 of the 3"));
  EXPECT_THAT(message(Header(-5, 1)), HasSubstr("'v'"));
  EXPECT_THAT(message(Header(3, 1, 3)), HasSubstr("has not the 3 values of type int32"));
  EXPECT_THAT(message(Header(3, 1, 77)), HasSubstr("unknown element type 77"));
  EXPECT_THAT(message(Header(3, 1, 21), Code::kUnimplemented), HasSubstr("variant"));
  EXPECT_EQ(ReadAll(Forged(*Header(3, 1), {})).status().code(), Code::kDataLoss);
  OwnedMessage later = Header(3, 1);
  later->Mutable(pb::SavedTensorSlices::kMeta)
      ->Mutable(pb::SavedTensorSliceMeta::kVersions)
      ->SetInt(pb::VersionDef::kMinConsumer, 2);
  EXPECT_THAT(message(later, Code::kInvalidArgument), HasSubstr("readers of version 2"));
}

}  // namespace
}  // namespace thalweg
