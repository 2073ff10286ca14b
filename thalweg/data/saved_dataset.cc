// SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/saved_dataset.h"

#include <map>
#include <memory>
#include <utility>

#include "thalweg/base/file_system.h"
#include "thalweg/data/batching.h"
#include "thalweg/data/kept_elements.h"
#include "thalweg/data/mapping.h"
#include "thalweg/data/memory_sources.h"
#include "thalweg/data/saved_metadata.h"
#include "thalweg/io/deflate.h"
#include "thalweg/io/record_framing.h"
#include "thalweg/proto/wire.h"
#include "thalweg/tensor/tensor_proto.h"

namespace thalweg {
namespace {

// Files that are open at once.
constexpr int64_t kMostShards = 1024;

// What one pass writes.
class Run {
 public:
  Run(std::string path, Compression compression)
      : path_(std::move(path)), compression_(compression), id_(NewRunId()) {}
  ~Run() { Remove(); }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  Status Write(int64_t shard, const Element& element) {
    ASSIGN_OR_RETURN(Shard* const to, ShardOf(shard));
    std::string framed;
    for (const Tensor& tensor : element) {
      OwnedMessage message(pb::TensorProto::Descriptor());
      RETURN_IF_ERROR(TensorToProto(tensor, message.get(), {.borrow = true}));
      ASSIGN_OR_RETURN(const std::string bytes, Serialize(*message));
      RETURN_IF_ERROR(to->deflater.Add(FrameRecord(bytes), &framed));
    }
    ++elements_;
    return to->file->Append(framed);
  }
  // From now on it is the one that is read.
  Status Finish(const std::vector<DType>& types) {
    if (shards_.empty()) RETURN_IF_ERROR(ShardOf(0).status());
    for (auto& [number, shard] : shards_) {
      std::string rest;
      RETURN_IF_ERROR(shard.deflater.Finish(&rest));
      RETURN_IF_ERROR(shard.file->Append(rest));
      RETURN_IF_ERROR(shard.file->Sync());
      RETURN_IF_ERROR(shard.file->Close());
    }
    RETURN_IF_ERROR(
        WriteMetadata(fs_, path_, {.run_id = id_, .types = types, .elements = elements_}));
    is_whole_ = true;
    return OkStatus();
  }

 private:
  struct Shard {
    std::unique_ptr<WritableFile> file;
    Deflater deflater;
  };

  Result<Shard*> ShardOf(int64_t number) {
    const auto known = shards_.find(number);
    if (known != shards_.end()) return &known->second;
    if (static_cast<int64_t>(shards_.size()) >= kMostShards) {
      return InvalidArgument("a dataset is saved in at most ", kMostShards, " shards, ", number,
                             " is one more");
    }
    ASSIGN_OR_RETURN(Deflater deflater, Deflater::Make(compression_));
    const std::string folder = ShardFolder(path_, id_, number);
    RETURN_IF_ERROR(fs_.MakeDirectories(folder));
    folders_.push_back(folder);
    ASSIGN_OR_RETURN(auto file, fs_.OpenForWriting(folder + "/00000000.snapshot"));
    return &shards_.emplace(number, Shard{std::move(file), std::move(deflater)}).first->second;
  }
  // What is not whole; nobody can be told what goes wrong with that.
  void Remove() {
    if (is_whole_) return;
    for (const auto& [number, shard] : shards_) (void)fs_.RemoveFile(shard.file->path());
    for (const std::string& folder : folders_) (void)fs_.RemoveDirectory(folder);
    (void)fs_.RemoveDirectory(path_ + "/" + id_);
  }

  PosixFileSystem fs_;
  const std::string path_;
  const Compression compression_;
  const std::string id_;
  std::map<int64_t, Shard> shards_;
  std::vector<std::string> folders_;
  int64_t elements_ = 0;
  bool is_whole_ = false;
};

class Saved : public DatasetOver {
 public:
  Saved(const DatasetPtr& input, std::string path, Compression compression,
        ElementFunctionPtr shard)
      : DatasetOver(input),
        path_(std::move(path)),
        compression_(compression),
        shard_(std::move(shard)) {}
  std::string Kind() const override { return "Save"; }
  int64_t Cardinality() const override { return input_->Cardinality(); }
  Result<StagePtr> DoMakeStage(const PipelineRef& pipeline) const override {
    ASSIGN_OR_RETURN(StagePtr input, input_->MakeStage(pipeline));
    return StagePtr(std::make_unique<SavedStage>(std::move(input), *this, shared_from_this()));
  }

 private:
  class SavedStage : public InputStage {
   public:
    SavedStage(StagePtr input, const Saved& saved, DatasetPtr owner)
        : InputStage(std::move(input)),
          saved_(saved),
          owner_(std::move(owner)),
          run_(std::make_unique<Run>(saved.path_, saved.compression_)),
          call_(saved.shard_) {}

    Result<Poll> DoNext(const Poller& poller, Element* out) override {
      if (!held_.empty()) {
        *out = std::exchange(held_, {});
        return Poll::kElement;
      }
      if (run_ == nullptr) return input_->Next(poller, out);
      if (!call_.open()) {
        Result<Poll> poll = input_->Next(poller, out);
        if (!poll.ok() || *poll == Poll::kPending) return poll;
        if (*poll == Poll::kEnd) {
          const std::unique_ptr<Run> run = std::move(run_);
          RETURN_IF_ERROR(run->Finish(saved_.spec().types).WithContext(What()));
          return poll;
        }
        RETURN_IF_ERROR(saved_.spec().Check(*out));
        if (saved_.shard_ == nullptr) return Write(0, out);
        call_.Begin(poller, Element(*out));
      }
      *out = call_.element();
      Element results;
      ASSIGN_OR_RETURN(const Poll poll, call_.Get(poller, &results));
      if (poll != Poll::kElement) return poll;
      if (results.size() != 1 || results[0].dtype() != DType::kInt64 || results[0].rank() != 0 ||
          results[0].scalar<int64_t>() < 0) {
        return InvalidArgument("`shard_func` must return one int64 scalar that is not negative");
      }
      return Write(results[0].scalar<int64_t>(), out);
    }
    Result<Poll> Save(const Poller& poller, StateWriter& writer) override {
      writer.Add(call_.open() ? call_.element() : Element());
      return InputStage::Save(poller, writer);
    }
    Status Restore(const Poller& poller, StateReader& reader) override {
      run_ = nullptr;
      RETURN_IF_ERROR(reader.Read(&held_));
      return InputStage::Restore(poller, reader);
    }

   private:
    std::string What() const { return StrCat("saving a dataset in ", saved_.path_); }
    // One that lacks an element is none.
    Result<Poll> Write(int64_t shard, Element* element) {
      if (Status written = run_->Write(shard, *element); !written.ok()) {
        run_ = nullptr;
        return written.WithContext(What());
      }
      return Poll::kElement;
    }

    const Saved& saved_;
    const DatasetPtr owner_;
    std::unique_ptr<Run> run_;  // null: it is over, or was restored
    CallInTurn call_;
    Element held_;  // was asked for its shard when the pass was saved
  };

  const std::string path_;
  const Compression compression_;
  const ElementFunctionPtr shard_;
};

// The elements whose components are the records of `input`.
class FromRecords : public DatasetOver {
 public:
  FromRecords(DatasetPtr records, ElementSpec spec, std::string folder)
      : DatasetOver(std::move(spec), std::move(records)), folder_(std::move(folder)) {}
  std::string Kind() const override { return "Load"; }
  Result<StagePtr> DoMakeStage(const PipelineRef& pipeline) const override {
    ASSIGN_OR_RETURN(StagePtr input, input_->MakeStage(pipeline));
    return StagePtr(
        std::make_unique<FromRecordsStage>(std::move(input), *this, shared_from_this()));
  }

 private:
  class FromRecordsStage : public InputStage {
   public:
    FromRecordsStage(StagePtr input, const FromRecords& dataset, DatasetPtr owner)
        : InputStage(std::move(input)), dataset_(dataset), owner_(std::move(owner)) {}

    Result<Poll> DoNext(const Poller& poller, Element* out) override {
      while (parts_.size() < dataset_.spec().types.size()) {
        Element record;
        ASSIGN_OR_RETURN(const Poll poll, input_->Next(poller, &record));
        if (poll == Poll::kEnd && !parts_.empty()) {
          return DataLoss("the shard ", dataset_.folder_, " ends inside of element ", at_);
        }
        if (poll != Poll::kElement) return poll;
        Result<Tensor> part = Parsed(poller, record[0].scalar<std::string>());
        if (!part.ok()) {
          return part.status().WithContext(StrCat("component ", parts_.size(), " of element ", at_,
                                                  " of the shard ", dataset_.folder_));
        }
        parts_.push_back(*std::move(part));
      }
      *out = std::exchange(parts_, {});
      RETURN_IF_ERROR(dataset_.spec().Check(*out).WithContext(
          StrCat("element ", at_, " of the shard ", dataset_.folder_)));
      ++at_;
      return Poll::kElement;
    }
    Result<Poll> Save(const Poller& poller, StateWriter& writer) override {
      writer.Add(at_);
      writer.Add(parts_);
      return InputStage::Save(poller, writer);
    }
    Status Restore(const Poller& poller, StateReader& reader) override {
      RETURN_IF_ERROR(reader.Read(&at_));
      RETURN_IF_ERROR(reader.Read(&parts_));
      return InputStage::Restore(poller, reader);
    }

   private:
    static Result<Tensor> Parsed(const Poller& poller, const std::string& bytes) {
      ASSIGN_OR_RETURN(const OwnedMessage message,
                       ParseMessage(pb::TensorProto::Descriptor(), bytes, {.borrow = true}));
      return TensorFromProto(*message, {.allocator = &poller.allocator()});
    }

    const FromRecords& dataset_;
    const DatasetPtr owner_;
    Element parts_;
    int64_t at_ = 0;
  };

  const std::string folder_;
};

}  // namespace

DatasetPtr SavedDataset(const DatasetPtr& input, std::string path, Compression compression,
                        ElementFunctionPtr shard) {
  return std::make_shared<Saved>(input, std::move(path), compression, std::move(shard));
}

Result<std::vector<DatasetPtr>> SavedShards(const std::string& path, Compression compression,
                                            const ElementSpec& spec) {
  PosixFileSystem fs;
  ASSIGN_OR_RETURN(const SavedMetadata metadata, ReadMetadata(fs, path));
  if (metadata.types != spec.types) {
    return InvalidArgument("the dataset saved in ", path, " has elements of ",
                           metadata.types.size(), " components of other types than the ",
                           spec.types.size(), " that are asked for");
  }
  ASSIGN_OR_RETURN(const auto shards, ShardFiles(fs, path, metadata.run_id));
  std::vector<DatasetPtr> datasets;
  for (const auto& [folder, files] : shards) {
    FilesOptions options{files};
    options.reading.compression = compression;
    DatasetPtr records =
        RecordsDataset(std::move(options), {{DType::kString}, {PartialShape(Shape())}});
    datasets.push_back(std::make_shared<FromRecords>(std::move(records), spec, folder));
  }
  return datasets;
}

Result<DatasetPtr> LoadedDataset(const std::string& path, Compression compression,
                                 const ElementSpec& spec, ElementFunctionPtr reader,
                                 Allocator& allocator) {
  ASSIGN_OR_RETURN(std::vector<DatasetPtr> shards, SavedShards(path, compression, spec));
  const ElementSpec one = {{DType::kVariant}, {PartialShape(Shape())}};
  auto kept = std::make_shared<KeptElements>("Load");
  for (DatasetPtr& shard : shards) {
    ASSIGN_OR_RETURN(Tensor variant, TensorOf(std::move(shard)));
    RETURN_IF_ERROR(kept->Push(allocator, {std::move(variant)}));
  }
  ASSIGN_OR_RETURN(Tensor all, TensorOfList(std::move(kept), one));
  return InterleaveDataset(OneElementDataset({std::move(all)}, one), std::move(reader), spec, {});
}

}  // namespace thalweg
