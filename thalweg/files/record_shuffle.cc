// SPDX-License-Identifier: Apache-2.0
#include "thalweg/files/record_shuffle.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <optional>

#include "thalweg/base/philox.h"
#include "thalweg/files/new_record_files.h"
#include "thalweg/files/record_files.h"
#include "thalweg/io/fixed_int.h"
#include "thalweg/io/record_framing.h"

namespace thalweg {
namespace {

constexpr int kKeyBits = 64;
constexpr uint64_t kSpillBuffer = uint64_t{64} << 10;  // what a file that is written to holds back
constexpr size_t kKeyBytes = 16;                       // before a record in a temporary file

struct KeyedRecord {
  uint64_t key = 0;
  uint64_t index = 0;  // in the input; decides between equal keys
  std::string_view data;
};
// The next record of whatever; nothing at the end.
using RecordFn = std::function<Result<std::optional<KeyedRecord>>()>;

uint64_t KeyOf(uint64_t seed, uint64_t index) {
  Philox random(seed);
  random.Skip(index);
  const Philox::Block block = random.Next();
  return block[0] | static_cast<uint64_t>(block[1]) << 32;
}

// Records in memory, in pieces, so that nothing that is there is ever copied to grow.
class RecordPile {
 public:
  explicit RecordPile(uint64_t memory) : memory_(memory) {}

  // False: it does not fit.
  bool Add(const KeyedRecord& record) {
    const size_t size = record.data.size();
    const bool fits_piece = size <= left_;
    const uint64_t piece = fits_piece ? 0 : std::max(kPiece, size);
    if (taken_ + piece + kItem > memory_) return false;
    taken_ += piece + kItem;
    if (!fits_piece) {
      pieces_.push_back(std::make_unique_for_overwrite<char[]>(piece));
      next_ = pieces_.back().get();
      left_ = piece;
    }
    if (size > 0) std::memcpy(next_, record.data.data(), size);
    records_.push_back({record.key, record.index, {next_, size}});
    next_ += size;
    left_ -= size;
    return true;
  }
  bool empty() const { return records_.empty(); }
  std::deque<KeyedRecord>& records() { return records_; }
  void Sort() {
    std::ranges::sort(records_, [](const KeyedRecord& a, const KeyedRecord& b) {
      return a.key != b.key ? a.key < b.key : a.index < b.index;
    });
  }
  void Clear() {
    records_ = {};
    pieces_.clear();
    taken_ = left_ = 0;
  }

 private:
  static constexpr size_t kPiece = size_t{64} << 10;
  static constexpr uint64_t kItem = sizeof(KeyedRecord) + 8;  // with its share of the deque

  const uint64_t memory_;
  uint64_t taken_ = 0;
  std::vector<std::unique_ptr<char[]>> pieces_;
  char* next_ = nullptr;
  size_t left_ = 0;
  std::deque<KeyedRecord> records_;
};

// A file that goes with its object; open until then, so that it is nobody's leftover.
class SpillFile {
 public:
  explicit SpillFile(FileSystem& fs) : fs_(fs) {}
  SpillFile(const SpillFile&) = delete;
  SpillFile& operator=(const SpillFile&) = delete;
  ~SpillFile() {
    file_.reset();
    if (!path_.empty()) fs_.RemoveFile(path_).IgnoreError();
  }
  Status Add(const std::string& prefix, const KeyedRecord& record) {
    if (file_ == nullptr) {
      ASSIGN_OR_RETURN(file_, fs_.CreateTemporary(prefix));
      path_ = file_->path();
    }
    std::string data;
    data.reserve(kKeyBytes + record.data.size());
    AppendFixed64(data, record.key);
    AppendFixed64(data, record.index);
    data += record.data;
    bytes_ += RecordFiles::StoredBytes(data);
    return file_->Append(FrameRecord(data));
  }
  // What was added can be read then.
  Status Flush() { return file_ == nullptr ? OkStatus() : file_->AppendWhole(""); }
  const std::string& path() const { return path_; }  // empty: nothing came
  uint64_t bytes() const { return bytes_; }

 private:
  FileSystem& fs_;
  std::string path_;
  std::unique_ptr<WritableFile> file_;
  uint64_t bytes_ = 0;
};

class Shuffler {
 public:
  Shuffler(FileSystem& fs, const std::string& output, const RecordShuffleOptions& options,
           Compression compression, uint64_t total)
      : fs_(fs),
        options_(options),
        spill_prefix_(output + ".tmp-spill"),
        total_(total),
        progress_(options.progress, 2 * total),
        files_(fs, output, options.may_replace, compression) {}

  Result<RecordShuffleResult> Run(const std::vector<std::string>& inputs) {
    RETURN_IF_ERROR(files_.CheckFree(options_.shards, options_.shards > 0));
    RecordFiles records(fs_, inputs, options_.memory);
    const RecordFn input = [&]() -> Result<std::optional<KeyedRecord>> {
      ASSIGN_OR_RETURN(const std::optional<std::string_view> data, records.Next());
      if (!data) return std::optional<KeyedRecord>();
      const uint64_t index = result_.records++;
      result_.bytes += RecordFiles::StoredBytes(*data);
      RETURN_IF_ERROR(progress_.Add(RecordFiles::StoredBytes(*data)));
      return std::optional<KeyedRecord>({KeyOf(options_.seed, index), index, *data});
    };
    RETURN_IF_ERROR(Shuffle(input, total_, 0));
    // Shards without a record are files, too.
    while (begun_ < std::max<size_t>(options_.shards, 1)) RETURN_IF_ERROR(BeginFile());
    ASSIGN_OR_RETURN(result_.files, files_.Finish(options_.shards > 0));
    return std::move(result_);
  }

 private:
  // Writes the records in the order of their keys, of which all have the first `bits` in common.
  // `bytes`: how many there are, 0 where nobody knows.
  Status Shuffle(const RecordFn& next, uint64_t bytes, int bits) {
    RecordPile pile(options_.memory);
    std::optional<KeyedRecord> record;
    while (true) {
      ASSIGN_OR_RETURN(record, next());
      if (!record) {
        pile.Sort();
        for (const KeyedRecord& sorted : pile.records()) RETURN_IF_ERROR(Write(sorted));
        return OkStatus();
      }
      if (!pile.Add(*record)) break;
    }
    return Spill(pile, *record, next, bytes, bits);
  }

  // So many that each is expected to fill a third of the memory, as far as their buffers allow, and
  // what is open already.
  int SpillBits(uint64_t bytes) const {
    constexpr uint64_t kUnknown = 64;
    const uint64_t allowed = std::min<uint64_t>(options_.memory / (4 * kSpillBuffer), 256);
    const uint64_t most = std::max<uint64_t>(allowed >> (2 * spill_depth_), 2);
    const uint64_t wanted = bytes == 0 ? kUnknown : 3 * bytes / options_.memory + 1;
    return std::bit_width(std::clamp<uint64_t>(wanted, 2, most)) - 1;
  }

  Status Spill(RecordPile& pile, const KeyedRecord& first, const RecordFn& next, uint64_t bytes,
               int bits) {
    if (pile.empty() || bits > kKeyBits - 8) {
      return ResourceExhausted("a record of ", first.data.size(),
                               " bytes does not fit in the memory of ", options_.memory, " bytes");
    }
    const int more = SpillBits(bytes);
    std::deque<SpillFile> spills;
    for (int i = 0; i < 1 << more; ++i) spills.emplace_back(fs_);
    const auto add = [&](const KeyedRecord& record) {
      return spills[(record.key << bits) >> (kKeyBits - more)].Add(spill_prefix_, record);
    };
    // The first one's bytes are the input's, until it is asked again.
    RETURN_IF_ERROR(add(first));
    for (const KeyedRecord& record : pile.records()) RETURN_IF_ERROR(add(record));
    pile.Clear();
    while (true) {
      ASSIGN_OR_RETURN(const std::optional<KeyedRecord> record, next());
      if (!record) break;
      RETURN_IF_ERROR(add(*record));
    }
    for (SpillFile& spill : spills) RETURN_IF_ERROR(spill.Flush());
    ++spill_depth_;
    while (!spills.empty()) {
      const SpillFile& spill = spills.front();
      result_.spilled += spill.bytes();
      if (!spill.path().empty()) {
        RecordFiles records(fs_, {spill.path()});
        const RecordFn spilled = [&]() -> Result<std::optional<KeyedRecord>> {
          ASSIGN_OR_RETURN(const std::optional<std::string_view> data, records.Next());
          if (!data) return std::optional<KeyedRecord>();
          return std::optional<KeyedRecord>(
              {LoadFixed64(data->data()), LoadFixed64(data->data() + 8), data->substr(kKeyBytes)});
        };
        RETURN_IF_ERROR(Shuffle(spilled, spill.bytes(), bits + more));
      }
      spills.pop_front();
    }
    --spill_depth_;
    return OkStatus();
  }

  Status BeginFile() {
    ++begun_;
    return files_.Begin();
  }

  Status Write(const KeyedRecord& record) {
    // All records are known by now: the first shards have one more where they cannot be equal.
    const uint64_t shards = std::max<uint64_t>(options_.shards, 1);
    while (begun_ == 0 || (begun_ < shards && written_ >= begun_ * result_.records / shards)) {
      RETURN_IF_ERROR(BeginFile());
    }
    ++written_;
    RETURN_IF_ERROR(progress_.Add(RecordFiles::StoredBytes(record.data)));
    return files_.Add(record.data);
  }

  FileSystem& fs_;
  const RecordShuffleOptions& options_;
  const std::string spill_prefix_;
  const uint64_t total_;
  Progress progress_;
  NewRecordFiles files_;
  RecordShuffleResult result_;
  int spill_depth_ = 0;  // how many levels of temporary files are there
  uint64_t begun_ = 0;
  uint64_t written_ = 0;
};

}  // namespace

Result<RecordShuffleResult> ShuffleRecords(FileSystem& fs, const std::vector<std::string>& inputs,
                                           const std::string& output,
                                           const RecordShuffleOptions& options) {
  if (options.memory < RecordShuffleOptions::kLeastMemory) {
    return InvalidArgument("shuffling needs at least ", RecordShuffleOptions::kLeastMemory,
                           " bytes of memory, not ", options.memory);
  }
  ASSIGN_OR_RETURN(const uint64_t total, RecordFileBytes(fs, inputs));
  ASSIGN_OR_RETURN(const Compression compression,
                   options.compression ? *options.compression : RecordFileCompression(fs, inputs));
  return Shuffler(fs, output, options, compression, total).Run(inputs);
}

}  // namespace thalweg
