// SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/snapshot.h"

#include <cstdio>
#include <utility>

#include "thalweg/base/fingerprint.h"
#include "thalweg/data/saved_metadata.h"

namespace thalweg {
namespace {

std::string NameOf(const Dataset& dataset) {
  char name[20];
  std::snprintf(name, sizeof(name), "%llu",
                static_cast<unsigned long long>(Fingerprint64(dataset.Lineage())));
  return name;
}

class Snapshot : public DatasetOver {
 public:
  Snapshot(const DatasetPtr& input, std::string folder, SnapshotOptions options)
      : DatasetOver(input),
        folder_(std::move(folder)),
        options_(std::move(options)),
        written_(SavedDataset(input, folder_, options_.compression, options_.shard)) {}
  std::string Kind() const override { return "Snapshot"; }
  int64_t Cardinality() const override { return input_->Cardinality(); }
  Result<StagePtr> DoMakeStage(const PipelineRef&) const override {
    return StagePtr(std::make_unique<SnapshotStage>(*this, shared_from_this()));
  }

 private:
  // What a pass does with the files.
  enum Way : int64_t { kUndecided, kWrites, kReads };

  class SnapshotStage : public Stage {
   public:
    SnapshotStage(const Snapshot& snapshot, DatasetPtr owner)
        : snapshot_(snapshot), owner_(std::move(owner)) {}

    Result<Poll> DoNext(const Poller& poller, Element* out) override {
      if (stage_ == nullptr) {
        ASSIGN_OR_RETURN(const bool is_there, snapshot_.IsThere());
        RETURN_IF_ERROR(Begin(poller, is_there ? kReads : kWrites));
      }
      return stage_->Next(poller, out);
    }
    Result<Poll> Save(const Poller& poller, StateWriter& writer) override {
      writer.Add(static_cast<int64_t>(way_));
      return stage_ == nullptr ? Poll::kElement : stage_->Save(poller, writer);
    }
    Status Restore(const Poller& poller, StateReader& reader) override {
      int64_t way = 0;
      RETURN_IF_ERROR(reader.Read(&way));
      if (way == kUndecided) return OkStatus();
      RETURN_IF_ERROR(Begin(poller, way == kReads ? kReads : kWrites));
      return stage_->Restore(poller, reader);
    }

   private:
    Status Begin(const Poller& poller, Way way) {
      DatasetPtr dataset = snapshot_.written_;
      if (way == kReads) {
        ASSIGN_OR_RETURN(dataset, snapshot_.Loaded(poller.allocator()));
      }
      ASSIGN_OR_RETURN(stage_, dataset->MakeStage(poller.scope()));
      way_ = way;
      return OkStatus();
    }

    const Snapshot& snapshot_;
    const DatasetPtr owner_;
    StagePtr stage_;
    Way way_ = kUndecided;
  };

  // What was not written to its end counts as nothing.
  Result<bool> IsThere() const {
    PosixFileSystem fs;
    const Result<SavedMetadata> metadata = ReadMetadata(fs, folder_);
    const Code code = metadata.status().code();
    if (code == Code::kNotFound || code == Code::kFailedPrecondition) return false;
    RETURN_IF_ERROR(metadata.status());
    return true;
  }
  Result<DatasetPtr> Loaded(Allocator& allocator) const {
    if (options_.reader == nullptr) {
      ASSIGN_OR_RETURN(const std::vector<DatasetPtr> shards,
                       SavedShards(folder_, options_.compression, spec()));
      if (shards.size() == 1) return shards[0];
      return DataLoss(folder_, ": ", shards.size(), " shards, where one was written");
    }
    return LoadedDataset(folder_, options_.compression, spec(), options_.reader, allocator);
  }

  const std::string folder_;
  const SnapshotOptions options_;
  const DatasetPtr written_;
};

}  // namespace

DatasetPtr SnapshotDataset(DatasetPtr input, const std::string& path, SnapshotOptions options) {
  const std::string name = options.folder.empty() ? NameOf(*input) : options.folder;
  return std::make_shared<Snapshot>(input, StrCat(path, "/", name), std::move(options));
}

}  // namespace thalweg
