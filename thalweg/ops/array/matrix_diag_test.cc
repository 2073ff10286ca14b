// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/ops/array/test_element_types.h"

namespace thalweg {
namespace {

struct Band {
  int64_t lower;
  int64_t upper;
  std::string align;  // "" for the versions that have none
  std::vector<double> k() const { return {static_cast<double>(lower), static_cast<double>(upper)}; }
};

// Column of element `n` of diagonal d in its packed row.
int64_t PackedColumn(const Band& band, int64_t d, int64_t rows, int64_t columns, int64_t longest,
                     int64_t n) {
  const int64_t length =
      std::min(rows + std::min<int64_t>(d, 0), columns - std::max<int64_t>(d, 0));
  const bool right = d >= 0 ? band.align.starts_with("RIGHT") : band.align.ends_with("RIGHT");
  return n + (right ? longest - length : 0);
}

// Calls f(index in the matrices, index in the packed form) for all elements on diagonals.
template <class F>
void ForElements(const Band& band, int64_t batch, int64_t rows, int64_t columns, int64_t longest,
                 F f) {
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        const int64_t d = j - i;
        if (d < band.lower || d > band.upper) continue;
        const int64_t row = b * (band.upper - band.lower + 1) + band.upper - d;
        f((b * rows + i) * columns + j,
          row * longest + PackedColumn(band, d, rows, columns, longest, std::min(i, j)));
      }
    }
  }
}

AttrMap Attrs(const Band& band) {
  AttrMap attrs;
  if (!band.align.empty()) attrs.Set("align", band.align);
  return attrs;
}
std::string Version(const Band& band) { return band.align.empty() ? "V2" : "V3"; }

const Band kBands[] = {{-1, 2, "RIGHT_LEFT"},
                       {-1, 2, "LEFT_RIGHT"},
                       {-1, 2, "LEFT_LEFT"},
                       {-2, 1, "RIGHT_RIGHT"},
                       {-1, 1, ""}};

TEST(MatrixDiagTest, UnpacksBands) {
  for (const Band& band : kBands) {
    const In packed({2, band.upper - band.lower + 1, 3});
    const auto reference = [band](int64_t rows, int64_t columns, int64_t batch) {
      return [=]<class V>(RefCall<V>& r) {
        r.out = {Array<V>(Shape{batch, rows, columns})};
        for (V& value : r.out[0].values) value = r.in[4][0];
        ForElements(band, batch, rows, columns, 3,
                    [&](int64_t to, int64_t from) { r.out[0][to] = r.in[0][from]; });
      };
    };
    EveryElementType("MatrixDiag" + Version(band))
        .Reference(reference(3, 5, 2))
        .Try({packed, In({2}, band.k()), In({}, {3}), In({}, {5}), In({}, {1})}, Attrs(band))
        .GradInputs({0})
        .Run();
    EveryElementType("MatrixDiag" + Version(band))
        .Reference(reference(3, 3, 2))
        .Try({packed, In({2}, band.k()), In({}, {-1}), In({}, {-1}), In({}, {1})}, Attrs(band))
        .Bad({packed, In({2}, {0, 1}), In({}, {-1}), In({}, {-1}), In({}, {1})}, Attrs(band),
             Code::kInvalidArgument, "")
        .Bad({packed, In({2}, band.k()), In({}, {2}), In({}, {-1}), In({}, {1})}, Attrs(band),
             Code::kInvalidArgument, "too small")
        .Bad({packed, In({2}, band.k()), In({}, {9}), In({}, {9}), In({}, {1})}, Attrs(band),
             Code::kInvalidArgument, "not consistent")
        .Bad({packed, In({2}, {2, 1}), In({}, {9}), In({}, {9}), In({}, {1})}, Attrs(band),
             Code::kInvalidArgument, "must not be larger")
        .Bad({packed, In({3}, {0, 1, 2}), In({}, {9}), In({}, {9}), In({}, {1})}, Attrs(band),
             Code::kInvalidArgument, "one or two elements")
        .GradInputs({0})
        .Run();
  }
}

TEST(MatrixDiagTest, PacksBands) {
  for (const Band& band : kBands) {
    EveryElementType("MatrixDiagPart" + Version(band))
        .Reference([&]<class V>(RefCall<V>& r) {
          const int64_t longest = 3;
          r.out = {Array<V>(Shape{2, band.upper - band.lower + 1, longest})};
          for (V& value : r.out[0].values) value = r.in[2][0];
          ForElements(band, 2, 3, 4, longest,
                      [&](int64_t from, int64_t to) { r.out[0][to] = r.in[0][from]; });
        })
        .Try({In({2, 3, 4}), In({2}, band.k()), In({}, {1})}, Attrs(band))
        .Bad({In({2, 3, 4}), In({2}, {-3, 0}), In({}, {1})}, Attrs(band), Code::kInvalidArgument,
             "lower_diag_index is out of bound: -3")
        .Bad({In({2, 3, 4}), In({2}, {0, 4}), In({}, {1})}, Attrs(band), Code::kInvalidArgument,
             "upper_diag_index is out of bound: 4")
        .Bad({In({3}), In({2}, {0, 0}), In({}, {1})}, Attrs(band), Code::kInvalidArgument, "")
        .GradInputs({0})
        .Run();
    EveryElementType("MatrixSetDiag" + Version(band))
        .Reference([&]<class V>(RefCall<V>& r) {
          r.out = {r.in[0]};
          ForElements(band, 2, 3, 4, 3,
                      [&](int64_t to, int64_t from) { r.out[0][to] = r.in[1][from]; });
        })
        .Try({In({2, 3, 4}).Range(-2, -1), In({2, band.upper - band.lower + 1, 3}).Range(1, 2),
              In({2}, band.k())},
             Attrs(band))
        .Bad({In({2, 3, 4}), In({2, 3}), In({2}, band.k())}, Attrs(band), Code::kInvalidArgument,
             "Shape must be rank 3 but is rank 2 for ", "first dimensions of diagonal")
        .Bad({In({2, 3, 4}), In({3}), In({2}, band.k())}, Attrs(band), Code::kInvalidArgument,
             "Shape must be at least rank 2 but is rank 1 for ", "first dimensions of diagonal")
        .Bad({In({2, 3, 4}), In({1, 2, 2, 3}), In({2}, band.k())}, Attrs(band),
             Code::kInvalidArgument, "Shape must be at most rank 3 but is rank 4 for ",
             "first dimensions of diagonal")
        .Bad({In({2, 3, 4}), In({2, 2, 3}), In({2}, {7, 7})}, Attrs(band), Code::kInvalidArgument,
             "Shape must be rank 2 but is rank 3 for ", "out of bound: 7")
        .Bad({In({2, 3, 4}), In({2, 2, 3}), In({1, 2}, band.k())}, Attrs(band),
             Code::kInvalidArgument, "Shape must be at most rank 1 but is rank 2 for ",
             "diag_index must be a scalar or vector")
        .Trivial("truth values may agree by chance")
        .Run();
  }
}

// A single diagonal has no dimension that counts them.
TEST(MatrixDiagTest, OneDiagonal) {
  EveryElementType("MatrixDiagPartV3")
      .Reference([]<class V>(RefCall<V>& r) {
        r.out = {Array<V>(Shape{2}, {r.in[0][2], r.in[0][7]})};
      })
      .Try({In({3, 4}), In({}, {2}), In({}, {0})})
      .GradInputs({0})
      .Trivial("truth values may be false by chance")
      .Run();
  EveryElementType("MatrixDiagPartV3")
      .Reference([]<class V>(RefCall<V>& r) {
        r.out = {Array<V>(Shape{2, 0})};
      })
      .Try({In({2, 0, 3}), In({1}, {0}), In({}, {0})})
      .GradInputs({0})
      .Trivial("an empty matrix")
      .Run();
}

TEST(MatrixDiagTest, TheMainDiagonal) {
  const Band main{0, 0, ""};
  for (const std::string prefix : {"", "Batch"}) {
    EveryElementType(prefix + "MatrixDiag")
        .Reference([&]<class V>(RefCall<V>& r) {
          r.out = {Array<V>(Shape{2, 3, 3})};
          ForElements(main, 2, 3, 3, 3,
                      [&](int64_t to, int64_t from) { r.out[0][to] = r.in[0][from]; });
        })
        .Try({In({2, 3})})
        .Bad({In({})}, {}, Code::kInvalidArgument, "")
        .Run();
    EveryElementType(prefix + "MatrixDiagPart")
        .Reference([&]<class V>(RefCall<V>& r) {
          r.out = {Array<V>(Shape{2, 3})};
          ForElements(main, 2, 4, 3, 3,
                      [&](int64_t from, int64_t to) { r.out[0][to] = r.in[0][from]; });
        })
        .Try({In({2, 4, 3})})
        .Trivial("truth values may be false by chance")
        .Run();
    EveryElementType(prefix + "MatrixSetDiag")
        .Reference([&]<class V>(RefCall<V>& r) {
          r.out = {r.in[0]};
          ForElements(main, 2, 4, 3, 3,
                      [&](int64_t to, int64_t from) { r.out[0][to] = r.in[1][from]; });
        })
        .Try({In({2, 4, 3}).Range(-2, -1), In({2, 3}).Range(1, 2)})
        .Trivial("truth values may agree by chance")
        .Run();
  }
}

}  // namespace
}  // namespace thalweg
