// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <optional>

#include "thalweg/devices/gpu/gpu_kernel.h"
#include "thalweg/devices/gpu/panels.h"
#include "thalweg/devices/gpu/register_kernels.h"

namespace thalweg {
namespace {

// Which product is where: the places of its factors among theirs, where dimensions in front of the
// matrices broadcast.
constexpr int kMostBatchDims = 6;
constexpr const char* kBatchesSource = R"(
typedef struct { uint rank; uint dims[6], a[6], b[6]; } Batches;

void find_factors(const Batches* s, uint batch, uint* a, uint* b) {
  *a = 0;
  *b = 0;
  for (int d = (int)s->rank - 1; d >= 0; --d) {
    *a += batch % s->dims[d] * s->a[d];
    *b += batch % s->dims[d] * s->b[d];
    batch /= s->dims[d];
  }
}
)";
struct Batches {
  uint32_t rank = 0;
  uint32_t dims[kMostBatchDims] = {}, a[kMostBatchDims] = {}, b[kMostBatchDims] = {};
};

// Of cards. A group of 16 by 16 work items makes a tile of 64 by 64, each item four rows and four
// columns of it, 16 apart; both factors go through local memory, 16 steps of the inner dimension at
// a time.
constexpr size_t kTileSide = 64;
constexpr size_t kGroupSide = 16;
constexpr const char* kTilesSource = R"(
__kernel __attribute__((reqd_work_group_size(16, 16, 1)))
void matmul(__global const float* ab, ulong a0, __global const float* bb, ulong b0,
            __global float* cb, ulong c0, uint m, uint n, uint k, Batches batches) {
  __local float at[16][65];
  __local float bt[16][65];
  const uint lx = get_local_id(0), ly = get_local_id(1), item = ly * 16 + lx;
  const uint row0 = get_group_id(1) * 64, column0 = get_group_id(0) * 64;
  const ulong batch = get_global_id(2);
  uint of_a, of_b;
  find_factors(&batches, batch, &of_a, &of_b);
  __global const float* a = ab + a0 + (ulong)of_a * m * k;
  __global const float* b = bb + b0 + (ulong)of_b * k * n;
  __global float* c = cb + c0 + batch * m * n;
  float sum[4][4];
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) sum[i][j] = 0.0f;
  for (uint first = 0; first < k; first += 16) {
    for (uint e = item; e < 1024; e += 256) {
      const uint ar = TA ? e % 64 : e / 16, ak = TA ? e / 64 : e % 16;
      const uint bc = TB ? e / 16 : e % 64, bk = TB ? e % 16 : e / 64;
      const uint row = row0 + ar, column = column0 + bc, ka = first + ak, kb = first + bk;
      at[ak][ar] = row < m && ka < k ? a[TA ? (ulong)ka * m + row : (ulong)row * k + ka] : 0.0f;
      bt[bk][bc] = column < n && kb < k ? b[TB ? (ulong)column * k + kb : (ulong)kb * n + column] : 0.0f;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int p = 0; p < 16; ++p) {
      float x[4], y[4];
      for (int i = 0; i < 4; ++i) x[i] = at[p][ly + 16 * i];
      for (int j = 0; j < 4; ++j) y[j] = bt[p][lx + 16 * j];
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) sum[i][j] = fma(x[i], y[j], sum[i][j]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) {
      const uint row = row0 + ly + 16 * i, column = column0 + lx + 16 * j;
      if (row < m && column < n) c[(ulong)row * n + column] = sum[i][j];
    }
}
)";

// Of processors: see panels.h.
constexpr const char* kPanelProductSource = R"(
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void matmul(__global const float* ab, ulong a0, __global const float* bb, ulong b0,
            __global float* cb, ulong c0, uint m, uint n, uint k, Batches batches, uint rows) {
  const uint column = get_global_id(0) * WIDE, first = get_global_id(1) * rows;
  const ulong batch = get_global_id(2);
  uint of_a, of_b;
  find_factors(&batches, batch, &of_a, &of_b);
  __global const float* a = ab + a0 + (ulong)of_a * m * k;
  __global const float* b = bb + b0 + (ulong)of_b * k * n + (ulong)column * (TB ? k : 1);
  __global float* c = cb + c0 + batch * m * n + column;
  const uint end = min(first + rows, m), wide = min((uint)WIDE, n - column);
  float panel[DEPTH * WIDE];
  uint done = 0;
  do {
    const uint depth = min((uint)DEPTH, k - done);
    pack_panel(panel, b + (ulong)done * (TB ? 1 : n), TB ? 1 : n, TB ? k : 1, depth, wide);
    for (uint row = first; row < end; row += ROWS) {
      __global const float* from[ROWS];
      __global float* to[ROWS];
      for (uint i = 0; i < ROWS; ++i) {
        const ulong r = min(row + i, end - 1);
        from[i] = a + (TA ? (ulong)done * m + r : r * k + done);
        to[i] = c + r * n;
      }
      EACH_ROW(NAME_SUM)
      EACH_ROW(NAME_ROW)
#define FACTOR(i) row##i[(ulong)p * (TA ? m : 1)]
      ADD_PRODUCTS(panel, depth)
      Wide sums[ROWS];
      EACH_ROW(GIVE_SUM)
      store_sums(sums, to, 1, min(end - row, (uint)ROWS), wide, done > 0);
    }
    done += depth;
  } while (done < k);
}
)";

struct ProductShape {
  int64_t batch = 1, m = 0, n = 0, k = 0;
  Dims dims;  // of the result
  Batches batches;
};

class MatMulGpu : public Kernel {
 public:
  MatMulGpu(GpuFunction kernel, bool transpose_a, bool transpose_b, bool batched)
      : kernel_(kernel), transpose_a_(transpose_a), transpose_b_(transpose_b), batched_(batched) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    const bool batched = c.node().op_name() != "MatMul";
    ASSIGN_OR_RETURN(const bool a, c.Attr<bool>(batched ? "adj_x" : "transpose_a"));
    ASSIGN_OR_RETURN(const bool b, c.Attr<bool>(batched ? "adj_y" : "transpose_b"));
    const std::string source =
        GpuOf(c).computes_by_panels() ? StrCat(kPanelsSource, kPanelProductSource) : kTilesSource;
    const std::string factors = StrCat("#define TA ", a ? 1 : 0, "\n#define TB ", b ? 1 : 0, "\n");
    ASSIGN_OR_RETURN(const GpuFunction kernel,
                     Compile(c, StrCat(factors, kBatchesSource, source), "matmul"));
    return std::unique_ptr<Kernel>(std::make_unique<MatMulGpu>(kernel, a, b, batched));
  }

  Status Compute(Context& ctx) override {
    const Tensor &a = ctx.input(0), &b = ctx.input(1);
    const Shape x = a.shape(), y = b.shape();
    ASSIGN_OR_RETURN(const ProductShape shape, ShapeOfProduct(x, y));
    ASSIGN_OR_RETURN(const Shape product, Shape::Make(shape.dims));
    ASSIGN_OR_RETURN(Tensor * c, ctx.AllocateOutput(0, a.dtype(), product));
    RETURN_IF_ERROR(IndexOf(c->num_elements()).status());
    RETURN_IF_ERROR(IndexOf(shape.k).status());
    if (std::optional<GpuProduct> product = ProductOfLibrary(shape);
        product && GpuOf(ctx).has_products()) {
      return c->num_elements() == 0 ? OkStatus() : GpuOf(ctx).queue().Multiply(*product, a, b, *c);
    }
    GpuLaunch launch(kernel_);
    launch.Add(a).Add(b).Add(*c);
    launch.Value(static_cast<uint32_t>(shape.m)).Value(static_cast<uint32_t>(shape.n));
    launch.Value(static_cast<uint32_t>(shape.k)).Value(shape.batches);
    GpuDevice& device = GpuOf(ctx);
    if (device.computes_by_panels()) {
      const PanelGrid grid = PanelGrid::Of(
          {.rows = shape.m, .columns = shape.n, .count = shape.batch}, device.traits().units);
      return device.queue().Run(launch.Value(grid.rows), grid.items, kPanelGroup);
    }
    return device.queue().Run(launch,
                              {Items(shape.n), Items(shape.m), static_cast<size_t>(shape.batch)},
                              {kGroupSide, kGroupSide, 1});
  }

 private:
  static size_t Items(int64_t size) {
    return (static_cast<size_t>(size) + kTileSide - 1) / kTileSide * kGroupSide;
  }
  // As a library has it: factors that are evenly apart. Nothing where some dimensions broadcast and
  // others do not.
  std::optional<GpuProduct> ProductOfLibrary(const ProductShape& shape) const {
    const Batches& batches = shape.batches;
    std::array<int64_t, 2> steps = {0, 0};
    int64_t inner = 1;
    for (int d = static_cast<int>(batches.rank) - 1; d >= 0; --d) {
      if (batches.dims[d] == 1) continue;
      const std::array<int64_t, 2> here = {batches.a[d], batches.b[d]};
      if (inner == 1) steps = here;
      for (int factor = 0; factor < 2; ++factor) {
        if (here[factor] != steps[factor] * inner) return std::nullopt;
      }
      inner *= batches.dims[d];
    }
    return GpuProduct{.count = shape.batch,
                      .m = shape.m,
                      .n = shape.n,
                      .k = shape.k,
                      .step_a = steps[0] * shape.m * shape.k,
                      .step_b = steps[1] * shape.k * shape.n,
                      .transpose_a = transpose_a_,
                      .transpose_b = transpose_b_};
  }
  Result<ProductShape> ShapeOfProduct(const Shape& x, const Shape& y) const {
    if (!batched_ && (x.rank() != 2 || y.rank() != 2)) {
      return InvalidArgument("both factors must be matrices, got ", x, " and ", y);
    }
    if (x.rank() < 2 || y.rank() < 2) {
      return InvalidArgument("factors must have a rank of at least 2, got ", x, " and ", y);
    }
    ProductShape shape;
    RETURN_IF_ERROR(BatchesOf(x, y, &shape));
    shape.m = x.dim(x.rank() - (transpose_a_ ? 1 : 2));
    shape.k = x.dim(x.rank() - (transpose_a_ ? 2 : 1));
    shape.n = y.dim(y.rank() - (transpose_b_ ? 2 : 1));
    if (y.dim(y.rank() - (transpose_b_ ? 1 : 2)) != shape.k) {
      return InvalidArgument("Matrix size-incompatible: In[0]: ", x, ", In[1]: ", y);
    }
    shape.dims.push_back(shape.m);
    shape.dims.push_back(shape.n);
    return shape;
  }
  static Status BatchesOf(const Shape& x, const Shape& y, ProductShape* shape) {
    const int rank = std::max(x.rank(), y.rank()) - 2;
    if (rank > kMostBatchDims) {
      return Unimplemented("products on devices of type GPU have up to ", kMostBatchDims + 2,
                           " dimensions, got ", x, " and ", y);
    }
    // From the last dimension to the first: how many matrices one step of it passes over.
    std::array<int64_t, kMostBatchDims> dims{};
    int64_t x_step = 1, y_step = 1;
    shape->batches.rank = static_cast<uint32_t>(rank);
    for (int d = rank - 1; d >= 0; --d) {
      const int xd = d - rank + x.rank() - 2, yd = d - rank + y.rank() - 2;
      const int64_t of_x = xd < 0 ? 1 : x.dim(xd), of_y = yd < 0 ? 1 : y.dim(yd);
      if (of_x != of_y && of_x != 1 && of_y != 1) {
        return InvalidArgument("factors differ in a dimension that is 1 in neither: ", x, " and ",
                               y);
      }
      dims[d] = of_x == 1 ? of_y : of_x;
      shape->batches.dims[d] = static_cast<uint32_t>(dims[d]);
      shape->batches.a[d] = of_x == 1 ? 0 : static_cast<uint32_t>(x_step);
      shape->batches.b[d] = of_y == 1 ? 0 : static_cast<uint32_t>(y_step);
      x_step *= of_x;
      y_step *= of_y;
      shape->batch *= dims[d];
    }
    for (int d = 0; d < rank; ++d) shape->dims.push_back(dims[d]);
    return OkStatus();
  }

  const GpuFunction kernel_;
  const bool transpose_a_;
  const bool transpose_b_;
  const bool batched_;
};

}  // namespace

void AddMatMulKernels(KernelAdder& adder) {
  for (const char* op : {"MatMul", "BatchMatMul", "BatchMatMulV2"}) {
    adder.AddLimited<MatMulGpu::Create>(op, {{"T", DType::kFloat}});
  }
}

}  // namespace thalweg
