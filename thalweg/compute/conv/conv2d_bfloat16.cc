// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/conv/conv2d_bfloat16.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace thalweg::compute {
namespace {

using namespace bfloat16;  // NOLINT: all of it

constexpr int64_t kFewChannels = 24;    // make blocks that are mostly zeros
constexpr int64_t kFewElements = 8;     // the same, of a whole row of a window
constexpr int64_t kRowGroups = 8;       // of pixels, in one shard
constexpr int64_t kColumnGroups = 16;   // whose sums stay in the second-level cache
constexpr int64_t kManyShards = 4;      // keep threads busy
constexpr int64_t kGroupsTogether = 4;  // are packed side by side

// One dimension of a walk over pixels: pixel p sees, through tap t, the source's
// p * step + offset(t), where there is one, and stands at p * place_step + place in what is made.
struct Axis {
  int64_t count = 0, step = 1, source = 0;
  int64_t place_step = 1, place = 0, places = 0;
  std::vector<std::pair<int64_t, int64_t>> taps;  // number and offset
};

// Pixels of the output, which look at the input.
Axis OverOutput(const Window& w) {
  Axis axis{w.output, w.stride, w.input, 1, 0, w.output, {}};
  for (int64_t t = 0; t < w.size; ++t) axis.taps.emplace_back(t, t * w.dilation - w.pad_before);
  return axis;
}

// Pixels of the input that are `first` and whole strides on, which look at the output. All see the
// same taps.
Axis OverInput(const Window& w, int64_t first) {
  Axis axis{CeilDiv(w.input - first, w.stride), 1, w.output, w.stride, first, w.input, {}};
  for (int64_t t = 0; t < w.size; ++t) {
    const int64_t at = first + w.pad_before - t * w.dilation;
    if (at % w.stride == 0) axis.taps.emplace_back(t, at / w.stride);
  }
  return axis;
}

struct Tap {
  int64_t number, row, column;  // of the filter; what it adds to a pixel's corner
};

// What taps look at: from each of its places they see so many elements.
struct Image {
  const uint16_t *data, *zeros;
  int64_t pixel, elements;  // elements from one place to the next, and those that are seen
};

// All pixels of a batch, what they look at and through which taps.
struct Walk {
  Walk(int64_t batch, Axis r, Axis c, int64_t filter_columns, const Image& of)
      : rows(std::move(r)), columns(std::move(c)), image(of) {
    pixels = batch * rows.count * columns.count;
    for (const auto& [i, row] : rows.taps) {
      for (const auto& [j, column] : columns.taps) {
        taps.push_back({i * filter_columns + j, row, column});
      }
    }
  }
  int64_t NumTaps() const { return static_cast<int64_t>(taps.size()); }

  Axis rows, columns;
  Image image;
  std::vector<Tap> taps;
  int64_t pixels;
};

// Up to kMost pixels of a walk, and where each tap finds what they see.
template <int64_t kMost>
class Pixels {
 public:
  // Pixels [first, first + count) of all images; more, up to whole groups, see nothing.
  Pixels(const Walk& walk, int64_t first, int64_t count)
      : walk_(walk), count_(CeilDiv(count, kGroup) * kGroup) {
    const Axis &rows = walk.rows, &columns = walk.columns;
    int64_t column = first % columns.count, row = first / columns.count % rows.count;
    int64_t image = first / columns.count / rows.count;
    for (int64_t i = 0; i < count; ++i) {
      row_[i] = row * rows.step;
      column_[i] = column * columns.step;
      corner_[i] = (image * rows.source + row_[i]) * columns.source + column_[i];
      place_[i] = (image * rows.places + row * rows.place_step + rows.place) * columns.places +
                  column * columns.place_step + columns.place;
      if (++column < columns.count) continue;
      column = 0;
      if (++row < rows.count) continue;
      row = 0;
      ++image;
    }
    std::fill(row_.begin() + count, row_.begin() + count_, INT64_MIN / 2);
    std::fill(column_.begin() + count, column_.begin() + count_, 0);
    std::fill(corner_.begin() + count, corner_.begin() + count_, 0);
  }

  // Where the elements begin that each pixel sees through `tap`; `zeros` where that lies outside.
  void Look(const Tap& tap, const uint16_t** seen) const {
    const auto rows = static_cast<uint64_t>(walk_.rows.source);
    const auto columns = static_cast<uint64_t>(walk_.columns.source);
    const Image image = walk_.image;
    const int64_t ahead = tap.row * walk_.columns.source + tap.column;
    for (int64_t i = 0; i < count_; ++i) {
      const bool inside = static_cast<uint64_t>(row_[i] + tap.row) < rows &&
                          static_cast<uint64_t>(column_[i] + tap.column) < columns;
      seen[i] = inside ? image.data + (corner_[i] + ahead) * image.pixel : image.zeros;
    }
  }

  int64_t place(int64_t i) const { return place_[i]; }

 private:
  const Walk& walk_;
  const int64_t count_;
  std::array<int64_t, kMost> row_, column_, corner_, place_;
};

// Pixels times a packed filter, n channels out.
struct ByPixels {
  Bfloat16Unit unit;
  const Walk& walk;
  int64_t n;
  Packed filter;
  const GemmEpilogue& epilogue;
  uint16_t* made;

  static constexpr int64_t kMost = kRowGroups * kGroup;

  int64_t steps() const { return filter.steps; }

  // Steps [begin, end) of what `count` pixels see.
  void Pack(const Pixels<kMost>& at, int64_t count, int64_t begin, int64_t end,
            uint16_t* to) const {
    const int64_t each = CeilDiv(walk.image.elements, kStep);  // steps of a tap
    const Packed packed{to, end - begin, count};
    std::array<const uint16_t*, kMost> seen;
    for (int64_t s = begin; s < end; ++s) {
      if (s == begin || s % each == 0) {
        at.Look(walk.taps[s / each], seen.data());
      }
      const int64_t first = s % each * kStep, depth = std::min(kStep, walk.image.elements - first);
      for (int64_t g = 0; g < CeilDiv(count, kGroup); ++g) {
        auto* const group = const_cast<uint16_t*>(packed.At(g, s - begin));
        for (int64_t i = 0; i < packed.Blocks(g); ++i) {
          PackRows(&seen[g * kGroup + 16 * i], first, depth, group + i * kBlock);
        }
      }
    }
  }

  void Write(const Pixels<kMost>& at, int64_t count, int64_t i, int64_t j,
             const float* sums) const {
    std::array<int64_t, kGroup> lines;
    const int64_t rows_here = std::min(kGroup, count - i * kGroup), first = j * kGroup;
    for (int64_t r = 0; r < rows_here; ++r) lines[r] = at.place(i * kGroup + r) * n + first;
    const auto* bias = static_cast<const uint16_t*>(epilogue.bias);
    const auto* residual = static_cast<const uint16_t*>(epilogue.residual);
    const Finish finish{bias != nullptr ? bias + first : nullptr, residual, epilogue.relu};
    finish.Write(sums, rows_here, std::min(kGroup, n - first), lines.data(), made);
  }

  // Pixels [first, first + count), all of n.
  bool Run(Work& work, int64_t first, int64_t count) const {
    const int64_t row_groups = CeilDiv(count, kGroup), column_groups = CeilDiv(n, kGroup);
    const int64_t wide = std::min(column_groups, kColumnGroups);
    const bool one_pass = steps() <= kDepthSteps;
    Scratch<uint16_t> packed(work, row_groups * kGroup * std::min(steps(), kDepthSteps) * kStep);
    Scratch<float> sums(work, one_pass ? kSums : row_groups * wide * kSums);
    if (!packed || !sums) return false;
    const Pixels<kMost> at(walk, first, count);
    const TileSetting setting(unit == Bfloat16Unit::kTiles);
    for (int64_t column = 0; column < column_groups; column += wide) {
      for (int64_t step = 0; step < steps() && !work.cancelled(); step += kDepthSteps) {
        const int64_t end = std::min(step + kDepthSteps, steps());
        if (column == 0 || !one_pass) Pack(at, count, step, end, packed.get());
        const Packed a{packed.get(), end - step, count};
        for (int64_t j = column; j < std::min(column + wide, column_groups); ++j) {
          for (int64_t i = 0; i < row_groups; ++i) {
            float* const to = sums.get() + (one_pass ? 0 : (i * wide + j - column) * kSums);
            SumsOf(unit, a.Blocks(i), filter.Blocks(j))(end - step, a.At(i, 0), filter.At(j, step),
                                                        step > 0, to);
            if (end == steps()) Write(at, count, i, j, to);
          }
        }
      }
    }
    return true;
  }
};

// Memory of what a walk looks at.
class Seen {
 public:
  // `padded`: elements of a copy, if there is one.
  Seen(Work& work, int64_t elements, int64_t padded) : zeros_(work, elements), copy_(work, padded) {
    if (zeros_) std::fill_n(zeros_.get(), elements, uint16_t{0});
  }
  explicit operator bool() const { return zeros_ && copy_; }
  const uint16_t* zeros() const { return zeros_.get(); }
  uint16_t* copy() const { return copy_.get(); }

 private:
  Scratch<uint16_t> zeros_, copy_;
};

// Few channels: all columns of a window side by side are one tap, seen in a copy of the image that
// has its padding.
bool IsByWindowRows(const Conv2DShape& s) {
  return s.in_channels < kFewChannels && s.columns.dilation == 1;
}

int64_t PaddedColumns(const Window& w) { return (w.output - 1) * w.stride + w.size; }

int64_t SeenElements(const Conv2DShape& s) {
  return IsByWindowRows(s) ? s.columns.size * s.in_channels : s.in_channels;
}

int64_t CopyElements(const Conv2DShape& s) {
  return IsByWindowRows(s) ? s.batch * s.rows.input * PaddedColumns(s.columns) * s.in_channels : 0;
}

// The output's pixels, which look at the input.
Result<Walk> OverOutput(Work& work, const Conv2DShape& s, const void* input, const Seen& seen) {
  const auto* values = static_cast<const uint16_t*>(input);
  const Image image{values, seen.zeros(), s.in_channels, SeenElements(s)};
  if (!IsByWindowRows(s)) {
    return Walk(s.batch, OverOutput(s.rows), OverOutput(s.columns), s.columns.size, image);
  }
  const int64_t columns = PaddedColumns(s.columns), before = s.columns.pad_before;
  const int64_t seen_columns = std::clamp<int64_t>(s.columns.input, 0, columns - before);
  RETURN_IF_ERROR(ForBlocks(work, s.batch * s.rows.input, 64, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      uint16_t* to = seen.copy() + row * columns * s.in_channels;
      std::fill_n(to, columns * s.in_channels, uint16_t{0});
      std::copy_n(values + row * s.columns.input * s.in_channels, seen_columns * s.in_channels,
                  to + before * s.in_channels);
    }
  }));
  Axis across{s.columns.output, s.columns.stride, columns, 1, 0, s.columns.output, {{0, 0}}};
  const Image padded{seen.copy(), seen.zeros(), s.in_channels, image.elements};
  return Walk(s.batch, OverOutput(s.rows), std::move(across), 1, padded);
}

// `of(tap)`: that part of the filter, the elements that it sees by n.
template <class FilterOf>
Status RunByPixels(Work& work, Bfloat16Unit unit, const Walk& walk, int64_t n, const FilterOf& of,
                   const GemmEpilogue& epilogue, void* made) {
  const int64_t each = CeilDiv(walk.image.elements, kStep), steps = walk.NumTaps() * each;
  Scratch<uint16_t> packed(work, CeilDiv(n, kGroup) * kGroup * steps * kStep);
  if (!packed) return OutOfScratch();
  const Packed filter{packed.get(), steps, n};
  RETURN_IF_ERROR(
      ForBlocks(work, CeilDiv(n, kGroup), kGroupsTogether, [&](int64_t begin, int64_t end) {
        for (int64_t t = 0; t < walk.NumTaps(); ++t) {
          PackGroups(Side::kB, of(walk.taps[t].number), begin, end, filter, t * each);
        }
      }));
  const ByPixels all{unit, walk, n, filter, epilogue, static_cast<uint16_t*>(made)};
  const bool many = walk.pixels >= kManyShards * kRowGroups * kGroup;
  const int64_t most = (many ? kRowGroups : kRowGroups / 2) * kGroup;
  return ForShards(work, CeilDiv(walk.pixels, most), [&](int64_t shard) {
    return all.Run(work, shard * most, std::min(most, walk.pixels - shard * most));
  });
}

// The filter's gradient: vectors of a are channels of the output's gradient, those of b the
// elements that taps see; what is summed over are the pixels.
struct ByTaps {
  Bfloat16Unit unit;
  const Walk& walk;
  Packed grad;
  uint16_t* made;

  static constexpr int64_t kMost = kDepthSteps * kStep;
  static constexpr int64_t kMostColumns = 8;  // groups of one shard, all in the second-level cache

  int64_t GroupsOfTap() const { return CeilDiv(walk.image.elements, kGroup); }
  int64_t FirstOf(int64_t group) const { return group % GroupsOfTap() * kGroup; }
  int64_t Columns(int64_t group) const {
    return std::min(kGroup, walk.image.elements - FirstOf(group));
  }

  // The column groups [begin, end) of the pixels of one pass.
  void Pack(const Pixels<kMost>& at, int64_t steps, int64_t begin, int64_t end,
            uint16_t* to) const {
    std::array<const uint16_t*, kMost> seen;
    for (int64_t j = begin; j < end; ++j, to += kGroup * steps * kStep) {
      if (j == begin || FirstOf(j) == 0) at.Look(walk.taps[j / GroupsOfTap()], seen.data());
      const int64_t first = FirstOf(j), width = Columns(j);
      uint16_t* block = to;
      for (int64_t s = 0; s < steps; ++s) {
        for (int64_t i = 0; i < width; i += 16, block += kBlock) {
          PackColumns(&seen[s * kStep], first + i, std::min<int64_t>(16, width - i), block);
        }
      }
    }
  }

  bool Run(Work& work, int64_t begin, int64_t end) const {
    const int64_t out = grad.count, row_groups = CeilDiv(out, kGroup), wide = end - begin;
    Scratch<uint16_t> packed(work, wide * kGroup * std::min(grad.steps, kDepthSteps) * kStep);
    Scratch<float> sums(work, row_groups * wide * kSums);
    if (!packed || !sums) return false;
    const TileSetting setting(unit == Bfloat16Unit::kTiles);
    for (int64_t step = 0; step < grad.steps && !work.cancelled(); step += kDepthSteps) {
      const int64_t steps = std::min(kDepthSteps, grad.steps - step);
      const int64_t first = step * kStep;
      const Pixels<kMost> at(walk, first, std::min(kMost, walk.pixels - first));
      Pack(at, steps, begin, end, packed.get());
      for (int64_t j = 0; j < wide; ++j) {
        for (int64_t i = 0; i < row_groups; ++i) {
          SumsOf(unit, grad.Blocks(i), Columns(begin + j) > 16 ? 2 : 1)(
              steps, grad.At(i, step), packed.get() + j * kGroup * steps * kStep, step > 0,
              sums.get() + (i * wide + j) * kSums);
        }
      }
    }
    for (int64_t j = 0; j < wide; ++j) {
      const int64_t tap = walk.taps[(begin + j) / GroupsOfTap()].number;
      const int64_t row = tap * walk.image.elements + FirstOf(begin + j);
      for (int64_t i = 0; i < row_groups; ++i) {
        WriteTransposed(sums.get() + (i * wide + j) * kSums, std::min(kGroup, out - i * kGroup),
                        Columns(begin + j), out, made + row * out + i * kGroup);
      }
    }
    return true;
  }
};

}  // namespace

bool IsForBfloat16Blocks(Bfloat16Unit unit, const Conv2DShape& s) {
  if (unit == Bfloat16Unit::kNone || s.batch == 0 || s.InPixels() == 0 || s.OutPixels() == 0 ||
      s.out_channels < kFewChannels) {
    return false;
  }
  // Padding of any width can be asked for; it is not to be copied.
  return s.in_channels >= kFewChannels ||
         (IsByWindowRows(s) && SeenElements(s) >= kFewElements &&
          PaddedColumns(s.columns) / 2 <= s.columns.input + s.columns.size);
}

Status Bfloat16ConvForward(Work& work, Bfloat16Unit unit, const Conv2DShape& s, const void* input,
                           const void* filter, void* output, const GemmEpilogue& epilogue) {
  const Seen seen(work, SeenElements(s), CopyElements(s));
  if (!seen) return OutOfScratch();
  ASSIGN_OR_RETURN(const Walk walk, OverOutput(work, s, input, seen));
  const int64_t in = walk.image.elements, out = s.out_channels;
  const auto* values = static_cast<const uint16_t*>(filter);
  const auto of = [&](int64_t tap) {
    return Vectors{values + tap * in * out, out, false, out, in};
  };
  return RunByPixels(work, unit, walk, out, of, epilogue, output);
}

Status Bfloat16ConvBackwardInput(Work& work, Bfloat16Unit unit, const Conv2DShape& s,
                                 const void* filter, const void* output_grad, void* input_grad) {
  const int64_t in = s.in_channels, out = s.out_channels;
  const Seen seen(work, out, 0);
  if (!seen) return OutOfScratch();
  const Image image{static_cast<const uint16_t*>(output_grad), seen.zeros(), out, out};
  const auto* values = static_cast<const uint16_t*>(filter);
  const auto of = [&](int64_t tap) { return Vectors{values + tap * in * out, out, true, in, out}; };
  std::vector<Walk> walks;
  bool all_seen = true;
  for (int64_t r = 0; r < std::min(s.rows.stride, s.rows.input); ++r) {
    for (int64_t c = 0; c < std::min(s.columns.stride, s.columns.input); ++c) {
      walks.emplace_back(s.batch, OverInput(s.rows, r), OverInput(s.columns, c), s.columns.size,
                         image);
      all_seen &= walks.back().NumTaps() > 0;
    }
  }
  if (!all_seen) {
    auto* made = static_cast<uint16_t*>(input_grad);
    RETURN_IF_ERROR(ForBlocks(
        work, s.batch * s.InPixels() * in, 1 << 16,
        [&](int64_t begin, int64_t end) { std::fill(made + begin, made + end, uint16_t{0}); }));
  }
  for (const Walk& walk : walks) {
    if (walk.NumTaps() == 0) continue;
    RETURN_IF_ERROR(RunByPixels(work, unit, walk, in, of, {}, input_grad));
  }
  return OkStatus();
}

Status Bfloat16ConvBackwardFilter(Work& work, Bfloat16Unit unit, const Conv2DShape& s,
                                  const void* input, const void* output_grad, void* filter_grad) {
  const int64_t out = s.out_channels, pixels = s.batch * s.OutPixels();
  const int64_t steps = CeilDiv(pixels, kStep), row_groups = CeilDiv(out, kGroup);
  const Seen seen(work, SeenElements(s), CopyElements(s));
  Scratch<uint16_t> packed(work, row_groups * kGroup * steps * kStep);
  if (!seen || !packed) return OutOfScratch();
  ASSIGN_OR_RETURN(const Walk walk, OverOutput(work, s, input, seen));
  const Packed grad{packed.get(), steps, out};
  // By pixels: all channels of one lie side by side.
  RETURN_IF_ERROR(ForBlocks(work, steps, kDepthSteps, [&](int64_t begin, int64_t end) {
    const auto* from = static_cast<const uint16_t*>(output_grad) + begin * kStep * out;
    const int64_t some = std::min(pixels, end * kStep) - begin * kStep;
    PackGroups(Side::kA, {from, out, false, out, some}, 0, row_groups, grad, begin);
  }));
  const ByTaps all{unit, walk, grad, static_cast<uint16_t*>(filter_grad)};
  const int64_t groups = walk.NumTaps() * all.GroupsOfTap();
  const int64_t wide = std::clamp<int64_t>(groups / kManyShards, 1, ByTaps::kMostColumns);
  return ForShards(work, CeilDiv(groups, wide), [&](int64_t shard) {
    return all.Run(work, shard * wide, std::min((shard + 1) * wide, groups));
  });
}

}  // namespace thalweg::compute
