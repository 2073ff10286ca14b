// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/image/distorted_box.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "thalweg/compute/random/philox_fill.h"

namespace thalweg::compute {
namespace {

// An even number in [0, n): the lowest words are passed over, so that n divides the rest.
uint32_t Below(PhiloxNumbers& numbers, uint32_t n) {
  if ((n & (n - 1)) == 0) return numbers.Next() & (n - 1);
  const uint32_t passed = UINT32_MAX % n + 1;
  uint32_t word = numbers.Next();
  while (word < passed) word = numbers.Next();
  return word % n;
}

int64_t Rounded(float x) { return std::lrintf(x); }

// The rows that a box of this aspect has at most in an image of so many rows and columns.
int64_t MostRows(float area, float aspect, int64_t rows, int64_t columns) {
  int64_t most = Rounded(std::sqrt(area / aspect));
  if (Rounded(static_cast<float>(most) * aspect) > columns) {
    constexpr float kLess = 1e-7f;
    most = static_cast<int64_t>((static_cast<double>(columns) + 0.5 - kLess) /
                                static_cast<double>(aspect));
    if (Rounded(static_cast<float>(most) * aspect) > columns) --most;
  }
  return std::min(most, rows);
}

// Rows and columns of a box, its place drawn; none when rounding leaves none that fits.
std::optional<PixelBox> DrawPlaced(PhiloxNumbers& numbers, const BoxWish& wish, float aspect,
                                   int64_t rows, int64_t columns) {
  const float whole_rows = static_cast<float>(rows), whole_columns = static_cast<float>(columns);
  const float min_area = wish.min_area * whole_columns * whole_rows;
  const float max_area = wish.max_area * whole_columns * whole_rows;
  const int64_t most = MostRows(max_area, aspect, rows, columns);
  int64_t height = std::min(Rounded(std::sqrt(min_area / aspect)), most);
  if (height < most) height += Below(numbers, static_cast<uint32_t>(most - height + 1));
  const auto width = [&] { return Rounded(static_cast<float>(height) * aspect); };
  const auto area = [&] { return static_cast<float>(width() * height); };
  if (area() < min_area) ++height;
  if (area() > max_area) --height;
  if (area() < min_area || area() > max_area || width() > columns || height > rows ||
      width() <= 0 || height <= 0) {
    return std::nullopt;
  }
  PixelBox box;
  if (height < rows) box.top = Below(numbers, static_cast<uint32_t>(rows - height));
  if (width() < columns) box.left = Below(numbers, static_cast<uint32_t>(columns - width()));
  box.bottom = box.top + height;
  box.right = box.left + width();
  return box;
}

float Area(const PixelBox& box) {
  return static_cast<float>(std::max<int64_t>(box.rows(), 0) * std::max<int64_t>(box.columns(), 0));
}

bool Covers(const PixelBox& box, float least, std::span<const PixelBox> objects) {
  if (Area(box) < 1) return false;
  return std::ranges::any_of(objects, [&](const PixelBox& object) {
    if (Area(object) < 1) return false;
    const PixelBox both{std::max(box.top, object.top), std::max(box.left, object.left),
                        std::min(box.bottom, object.bottom), std::min(box.right, object.right)};
    return Area(both) / Area(object) >= least;
  });
}

}  // namespace

Result<PixelBox> DrawBox(Work& work, const Philox& stream, const BoxWish& wish, int64_t rows,
                         int64_t columns, std::span<const PixelBox> objects) {
  PhiloxNumbers numbers(stream);
  for (int64_t i = 0; i < wish.attempts; ++i) {
    if (work.cancelled()) return CancelledStep();
    const float aspect =
        UniformFloat(numbers.Next()) * (wish.max_aspect - wish.min_aspect) + wish.min_aspect;
    const std::optional<PixelBox> box = DrawPlaced(numbers, wish, aspect, rows, columns);
    if (box && Covers(*box, wish.least_covered, objects)) return *box;
  }
  return PixelBox{0, 0, rows, columns};
}

}  // namespace thalweg::compute
