// SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/file_cache.h"

#include <cstdio>
#include <utility>

#include "thalweg/data/input_stage.h"
#include "thalweg/data/kept_elements.h"
#include "thalweg/data/lock_file.h"
#include "thalweg/io/bundle_reader.h"
#include "thalweg/io/bundle_writer.h"

namespace thalweg {
namespace {

// As TensorFlow numbers them.
constexpr int64_t kMostElements = 10'000'000;
constexpr int kDigits = 7;
// What a tensor takes in the index of a checkpoint that is written.
constexpr size_t kIndexBytes = 256;

// Which tensor of the checkpoint is component `c` of `width` of element `i`.
std::string KeyOf(int64_t i, size_t c, size_t width) {
  char key[48];
  std::snprintf(key, sizeof(key), "%*lld_%*zu", kDigits, static_cast<long long>(i),
                static_cast<int>(StrCat(width - 1).size()), c);
  return key;
}

class FileCache : public DatasetOver {
 public:
  FileCache(const DatasetPtr& input, std::string prefix)
      : DatasetOver(input), prefix_(std::move(prefix)) {}
  std::string Kind() const override { return "Cache"; }
  int64_t Cardinality() const override { return input_->Cardinality(); }
  Result<StagePtr> DoMakeStage(const PipelineRef&) const override {
    return StagePtr(std::make_unique<FileCacheStage>(*this, shared_from_this()));
  }

 private:
  class FileCacheStage : public Stage {
   public:
    FileCacheStage(const FileCache& cache, DatasetPtr owner)
        : cache_(cache), owner_(std::move(owner)), width_(cache.spec().types.size()) {}

    Result<Poll> DoNext(const Poller& poller, Element* out) override {
      if (doing_ == kNothing) RETURN_IF_ERROR(Begin(poller));
      if (doing_ == kEnded) return Poll::kEnd;
      if (doing_ == kReading) return ReadOne(poller, out);
      Result<Poll> poll = stage_->Next(poller, out);
      if (!poll.ok() || *poll == Poll::kPending) return poll;
      if (*poll == Poll::kEnd) {
        doing_ = kEnded;
        stage_ = nullptr;
        return Finish();
      }
      if (doing_ == kWriting) {
        if (Status written = Write(poller, *out); !written.ok()) {
          // A cache that lacks an element is none.
          GiveUp();
          return written;
        }
      }
      ++at_;
      return poll;
    }

    // What was written until now does not outlive its pass: one that is restored gives the rest
    // without writing it.
    Result<Poll> Save(const Poller& poller, StateWriter& writer) override {
      writer.Add(doing_ == kWriting ? kPassing : doing_);
      writer.Add(at_);
      return stage_ != nullptr ? stage_->Save(poller, writer) : Poll::kElement;
    }
    Status Restore(const Poller& poller, StateReader& reader) override {
      RETURN_IF_ERROR(reader.Read(&doing_));
      RETURN_IF_ERROR(reader.Read(&at_));
      if (doing_ < kNothing || doing_ > kEnded || doing_ == kWriting || at_ < 0) {
        return InvalidArgument("the state of the iterator is none of this dataset");
      }
      if (doing_ == kReading) return Open();
      if (doing_ != kPassing) return OkStatus();
      ASSIGN_OR_RETURN(stage_, cache_.input_->MakeStage(poller.scope()));
      return stage_->Restore(poller, reader);
    }

   private:
    enum Doing : int64_t { kNothing, kWriting, kPassing, kReading, kEnded };

    Status Begin(const Poller& poller) {
      const std::string index = BundleIndexPath(cache_.prefix_);
      if (fs_.Stat(index).ok()) return Read();
      ASSIGN_OR_RETURN(std::unique_ptr<LockFile> lock,
                       LockFile::Make(StrCat(cache_.prefix_, "_0.lockfile")));
      if (fs_.Stat(index).ok()) return Read();  // who had the lock has just finished
      ASSIGN_OR_RETURN(writer_, BundleWriter::Create(fs_, cache_.prefix_));
      ASSIGN_OR_RETURN(stage_, cache_.input_->MakeStage(poller.scope()));
      lock_ = std::move(lock);
      doing_ = kWriting;
      return OkStatus();
    }

    Status Read() {
      RETURN_IF_ERROR(Open());
      doing_ = kReading;
      return OkStatus();
    }
    Status Write(const Poller& poller, const Element& element) {
      RETURN_IF_ERROR(cache_.spec().Check(element));
      if (at_ == kMostElements) {
        return InvalidArgument("the cache ", cache_.prefix_, " holds at most ", kMostElements,
                               " elements");
      }
      RETURN_IF_ERROR(charge_.Add(poller.allocator(), kIndexBytes * width_)
                          .WithContext(StrCat("the index of the cache ", cache_.prefix_)));
      for (size_t c = 0; c < width_; ++c) {
        RETURN_IF_ERROR(writer_->Add(KeyOf(at_, c, width_), element[c])
                            .WithContext(StrCat("the cache ", cache_.prefix_)));
      }
      return OkStatus();
    }
    void GiveUp() {
      doing_ = kPassing;
      writer_ = nullptr;
      lock_ = nullptr;
      charge_.Remove(charge_.bytes());
    }
    // The input has ended.
    Result<Poll> Finish() {
      if (writer_ == nullptr) return Poll::kEnd;
      Status finished = writer_->Finish();
      GiveUp();
      doing_ = kEnded;
      if (!finished.ok()) return finished.WithContext(StrCat("the cache ", cache_.prefix_));
      return Poll::kEnd;
    }

    Status Open() {
      ASSIGN_OR_RETURN(reader_, BundleReader::Open(fs_, cache_.prefix_));
      const size_t tensors = reader_->Names().size();
      if (tensors % width_ == 0) {
        count_ = static_cast<int64_t>(tensors / width_);
        return OkStatus();
      }
      return DataLoss(BundleIndexPath(cache_.prefix_), " holds ", tensors,
                      " tensors, which are no elements of ", width_, " components");
    }
    Result<Poll> ReadOne(const Poller& poller, Element* out) {
      if (at_ >= count_) return Poll::kEnd;
      out->resize(width_);
      for (size_t c = 0; c < width_; ++c) {
        Result<Tensor> value = reader_->Read(KeyOf(at_, c, width_), poller.allocator());
        if (value.status().code() == Code::kNotFound) {
          return DataLoss(BundleIndexPath(cache_.prefix_), " lacks component ", c, " of element ",
                          at_, " of ", count_, ": it is the cache of another dataset, or damaged");
        }
        if (!value.ok()) return value.status();
        (*out)[c] = *std::move(value);
      }
      RETURN_IF_ERROR(cache_.spec().Check(*out).WithContext(
          StrCat("the cache ", cache_.prefix_, ", element ", at_)));
      ++at_;
      return Poll::kElement;
    }

    const FileCache& cache_;
    const DatasetPtr owner_;
    const size_t width_;
    PosixFileSystem fs_;
    int64_t doing_ = kNothing;
    int64_t at_ = 0;  // elements given
    StagePtr stage_;  // makes them, unless they are read
    std::unique_ptr<LockFile> lock_;
    std::unique_ptr<BundleWriter> writer_;
    std::unique_ptr<BundleReader> reader_;
    int64_t count_ = 0;
    SteppedCharge charge_;  // of the writer's index
  };

  const std::string prefix_;
};

}  // namespace

DatasetPtr FileCacheDataset(DatasetPtr input, std::string prefix) {
  return std::make_shared<FileCache>(input, std::move(prefix));
}

}  // namespace thalweg
