// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "thalweg/base/entropy.h"
#include "thalweg/base/file_system.h"
#include "thalweg/base/mutex.h"
#include "thalweg/compute/random/philox_fill.h"
#include "thalweg/graph/narrow_attr.h"
#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {
namespace {

// The words of a text, numbered from the most frequent; number 0 stands for those that are rare.
struct Corpus {
  std::vector<std::string> words;
  std::vector<int32_t> counts;
  std::vector<int32_t> text;

  static Result<Corpus> Read(const std::string& name, int64_t least_count, int64_t window);
};

std::vector<std::string_view> SplitWords(std::string_view text) {
  constexpr std::string_view kSpace = " \t\n\v\f\r";
  std::vector<std::string_view> words;
  for (;;) {
    const size_t begin = text.find_first_not_of(kSpace);
    if (begin == std::string_view::npos) return words;
    text.remove_prefix(begin);
    const size_t end = std::min(text.find_first_of(kSpace), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

Result<Corpus> Corpus::Read(const std::string& name, int64_t least_count, int64_t window) {
  PosixFileSystem fs;
  ASSIGN_OR_RETURN(const std::string contents, ReadFile(fs, name));
  const std::vector<std::string_view> all = SplitWords(contents);
  const auto size = static_cast<int64_t>(all.size());
  if (size > std::numeric_limits<int32_t>::max()) {
    return InvalidArgument("The text file ", name, " has more than 2^31 - 1 words");
  }
  if (size / 10 < window) {
    return InvalidArgument("The text file ", name, " contains too little data: ", size, " words");
  }
  struct Word {
    std::string_view word;
    int32_t count = 0, number = 0;
  };
  std::vector<Word> found;
  std::unordered_map<std::string_view, size_t> place;
  for (const std::string_view word : all) {
    const auto [it, is_new] = place.emplace(word, found.size());
    if (is_new) found.push_back({word});
    ++found[it->second].count;
  }
  std::vector<Word*> ranked;
  int32_t rare = 0;
  for (Word& word : found) {
    if (word.count >= least_count) {
      ranked.push_back(&word);
    } else {
      rare += word.count;
    }
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const Word* a, const Word* b) { return a->count > b->count; });
  Corpus made{{"UNK"}, {rare}, {}};
  for (Word* word : ranked) {
    word->number = static_cast<int32_t>(made.words.size());
    made.words.emplace_back(word->word);
    made.counts.push_back(word->count);
  }
  for (const std::string_view word : all) made.text.push_back(found[place[word]].number);
  return made;
}

// Pairs of a word and one beside it, over and over the text: for each word, all words up to a
// distance that is drawn, the left ones first.
class SkipgramCpu : public Kernel {
 public:
  SkipgramCpu(Corpus corpus, int64_t batch, int64_t window, float subsample)
      : corpus_(std::move(corpus)),
        batch_(batch),
        window_(std::max<int64_t>(window, 1)),
        subsample_(subsample),
        numbers_(Philox(RandomSeed(), RandomSeed())) {}

  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const std::string name, c.Attr<std::string>("filename"));
    ASSIGN_OR_RETURN(const int64_t batch, Int32Attr(c, "batch_size"));
    ASSIGN_OR_RETURN(const int64_t window, Int32Attr(c, "window_size"));
    ASSIGN_OR_RETURN(const int64_t least_count, Int32Attr(c, "min_count"));
    ASSIGN_OR_RETURN(const float subsample, c.Attr<float>("subsample"));
    if (batch <= 0) return InvalidArgument("batch_size must be positive, got ", batch);
    ASSIGN_OR_RETURN(Corpus corpus, Corpus::Read(name, least_count, std::max<int64_t>(window, 1)));
    return std::unique_ptr<Kernel>(
        std::make_unique<SkipgramCpu>(std::move(corpus), batch, window, subsample));
  }

  Status Compute(Context& ctx) override {
    const auto words = static_cast<int64_t>(corpus_.words.size());
    ASSIGN_OR_RETURN(Tensor * examples, ctx.AllocateOutput(5, DType::kInt32, Shape{batch_}));
    ASSIGN_OR_RETURN(Tensor * labels, ctx.AllocateOutput(6, DType::kInt32, Shape{batch_}));
    MutexLock lock(mutex_);
    for (int64_t i = 0; i < batch_; ++i) {
      RETURN_IF_ERROR(NextPair(ctx, &examples->mutable_data<int32_t>()[i],
                               &labels->mutable_data<int32_t>()[i]));
    }
    ctx.set_output(0, Tensor::Of<std::string>(corpus_.words, Shape{words}));
    ctx.set_output(1, Tensor::Of<int32_t>(corpus_.counts, Shape{words}));
    ctx.set_output(2, Tensor::Scalar(static_cast<int64_t>(corpus_.text.size())));
    ctx.set_output(3, Tensor::Scalar(epoch_));
    ctx.set_output(4, Tensor::Scalar(words_read_));
    return OkStatus();
  }

 private:
  static constexpr size_t kSentence = 1000;
  static constexpr int64_t kMostSkipped = int64_t{1} << 24;

  double Uniform() REQUIRES(mutex_) {
    return static_cast<double>(compute::UniformFloat(numbers_.Next()));
  }

  // A frequent word is left out more often (Mikolov et al. 2013).
  bool IsKept(int32_t word) REQUIRES(mutex_) {
    if (!(subsample_ > 0)) return true;
    const auto count = static_cast<double>(corpus_.counts[static_cast<size_t>(word)]);
    const double some = static_cast<double>(subsample_) * static_cast<double>(corpus_.text.size());
    return Uniform() <= (std::sqrt(count / some) + 1) * some / count;
  }

  // The next words, without those that are left out.
  Status ReadSentence(Context& ctx) REQUIRES(mutex_) {
    sentence_.clear();
    center_ = 0;
    for (int64_t skipped = 0; sentence_.size() < kSentence;) {
      const int32_t word = corpus_.text[place_];
      ++words_read_;
      if (++place_ == corpus_.text.size()) {
        place_ = 0;
        epoch_ += epoch_ < std::numeric_limits<int32_t>::max() ? 1 : 0;
        if (ctx.work().cancelled()) return CancelledStep();
      }
      if (IsKept(word)) {
        sentence_.push_back(word);
      } else if (++skipped == kMostSkipped) {
        return InvalidArgument("subsample ", subsample_, " leaves out too many words");
      }
    }
    return OkStatus();
  }

  void OpenWindow() REQUIRES(mutex_) {
    const auto reach =
        1 + std::min(static_cast<int64_t>(Uniform() * static_cast<double>(window_)), window_ - 1);
    const auto center = static_cast<int64_t>(center_);
    beside_ = static_cast<size_t>(std::max<int64_t>(center - reach, 0));
    end_ = static_cast<size_t>(std::min<int64_t>(center + reach + 1, kSentence));
  }

  Status NextPair(Context& ctx, int32_t* example, int32_t* label) REQUIRES(mutex_) {
    for (;;) {
      if (center_ >= sentence_.size()) {
        RETURN_IF_ERROR(ReadSentence(ctx));
        OpenWindow();
      }
      if (beside_ == center_) ++beside_;
      if (beside_ < end_) {
        *example = sentence_[center_];
        *label = sentence_[beside_++];
        return OkStatus();
      }
      if (++center_ < sentence_.size()) OpenWindow();
    }
  }

  const Corpus corpus_;
  const int64_t batch_, window_;
  const float subsample_;
  Mutex mutex_;
  compute::PhiloxNumbers numbers_ GUARDED_BY(mutex_);
  std::vector<int32_t> sentence_ GUARDED_BY(mutex_);
  size_t place_ GUARDED_BY(mutex_) = 0;  // in the text
  size_t center_ GUARDED_BY(mutex_) = 0, beside_ GUARDED_BY(mutex_) = 0,
                 end_ GUARDED_BY(mutex_) = 0;
  int32_t epoch_ GUARDED_BY(mutex_) = 0;
  int64_t words_read_ GUARDED_BY(mutex_) = 0;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(skipgram, cpu) { registry.Add<SkipgramCpu>("Skipgram", kCpu).KeepsState(); }
