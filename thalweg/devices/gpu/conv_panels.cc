// SPDX-License-Identifier: Apache-2.0
#include "thalweg/devices/gpu/conv_panels.h"

namespace thalweg {

const char* const kConvPanelsSource = R"(
// What the windows make (to) and what they read (from); backward they read the output's gradient.
#if BACKWARD
#define TO(size) s.in_##size
#define FROM(size) s.out_##size
#define to_place in_place
#define from_place out_place
#else
#define TO(size) s.out_##size
#define FROM(size) s.in_##size
#define to_place out_place
#define from_place in_place
#endif

// Where a tap of the window of a pixel reads; whether that is in the image.
int find(const Slide* s, Pixel at, int tap_row, int tap_column, int* row, int* column) {
#if BACKWARD
  *row = (int)at.row + s->pad_rows - tap_row * (int)s->dilation_rows;
  *column = (int)at.column + s->pad_columns - tap_column * (int)s->dilation_columns;
  if (*row < 0 || *column < 0 || *row % s->stride_rows != 0 || *column % s->stride_columns != 0) return 0;
  *row /= s->stride_rows;
  *column /= s->stride_columns;
  return *row < (int)s->out_rows && *column < (int)s->out_columns;
#else
  *row = (int)(at.row * s->stride_rows) + tap_row * (int)s->dilation_rows - s->pad_rows;
  *column = (int)(at.column * s->stride_columns) + tap_column * (int)s->dilation_columns - s->pad_columns;
  return *row >= 0 && *row < (int)s->in_rows && *column >= 0 && *column < (int)s->in_columns;
#endif
}

// `depth` steps of the filter from step `begin` on, for columns from `column` on.
void pack_filter(float* panel, __global const float* f, const Slide* s, uint begin, uint depth,
                 uint column, uint wide) {
#if BACKWARD
  const uint inner = s->out_channels;
  for (uint p = 0; p < depth;) {
    const uint tap = (begin + p) / inner, k = (begin + p) % inner, run = min(inner - k, depth - p);
    pack_panel(panel + p * WIDE, f + ((ulong)tap * s->in_channels + column) * inner + k, 1, inner, run, wide);
    p += run;
  }
#else
  pack_panel(panel, f + (ulong)begin * s->out_channels + column, s->out_channels, 1, depth, wide);
#endif
}

#define INSIDE(i) (inside[i] ? row##i[(ulong)p * step] : 0.0f)
#define NEIGHBOR(i) row##i[p]
#define STEP(i) row##i[(ulong)p * step]
#define COUNT(i) + inside[i]

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void make_pixels(__global const float* from_buffer, ulong from0, __global const float* fb, ulong f0,
                 __global float* to_buffer, ulong to0, uint rows, Slide s) {
  const uint column = get_global_id(0) * WIDE, first = get_global_id(1) * rows;
  const uint end = min(first + rows, s.batch * TO(rows) * TO(columns));
  const uint wide = min((uint)WIDE, TO(channels) - column), inner = FROM(channels);
  const uint whole = s.size_rows * s.size_columns * inner;
  const ulong step = s.channels_first ? FROM(rows) * FROM(columns) : 1;
  const ulong to_step = s.channels_first ? TO(rows) * TO(columns) : 1;
  float panel[DEPTH * WIDE];
  uint done = 0;
  do {
    const uint depth = min((uint)DEPTH, whole - done);
    pack_filter(panel, fb + f0, &s, done, depth, column, wide);
    for (uint row = first; row < end; row += ROWS) {
      Pixel at[ROWS];
      __global float* to[ROWS];
      for (uint i = 0; i < ROWS; ++i) {
        at[i] = pixel(1, TO(rows), TO(columns), 1, min(row + i, end - 1));
        to[i] = to_buffer + to0 + to_place(&s, at[i].image, at[i].row, at[i].column, column);
      }
      EACH_ROW(NAME_SUM)
      for (uint q = 0; q < depth;) {  // a tap of the window, and of it so many channels
        const uint tap = (done + q) / inner, k = (done + q) % inner, run = min(inner - k, depth - q);
        __global const float* from[ROWS];
        int inside[ROWS];
        for (uint i = 0; i < ROWS; ++i) {
          int r, c;
          inside[i] = find(&s, at[i], tap / s.size_columns, tap % s.size_columns, &r, &c);
          from[i] = from_buffer + from0 + (inside[i] ? from_place(&s, at[i].image, r, c, k) : 0);
        }
        const int pixels_inside = 0 EACH_ROW(COUNT);
        EACH_ROW(NAME_ROW)
        if (pixels_inside == ROWS && step == 1) {
#define FACTOR NEIGHBOR
          ADD_PRODUCTS(panel + q * WIDE, run)
        } else if (pixels_inside == ROWS) {
#undef FACTOR
#define FACTOR STEP
          ADD_PRODUCTS(panel + q * WIDE, run)
        } else if (pixels_inside > 0) {
#undef FACTOR
#define FACTOR INSIDE
          ADD_PRODUCTS(panel + q * WIDE, run)
        }
        q += run;
      }
      Wide sums[ROWS];
      EACH_ROW(GIVE_SUM)
      store_sums(sums, to, to_step, min(end - row, (uint)ROWS), wide, done > 0);
    }
    done += depth;
  } while (done < whole);
}

// Elements of the filter from `column` on, as the windows of `depth` pixels of the output from
// `begin` on read them.
void pack_windows(float* panel, __global const float* x, const Slide* s, uint begin, uint depth,
                  uint column, uint wide) {
  int rows[WIDE], columns[WIDE];
  uint places[WIDE];  // from a window's corner; unsigned numbers wrap where that is outside
  for (uint j = 0; j < WIDE; ++j) {
    const uint element = column + min(j, wide - 1), tap = element / s->in_channels;
    rows[j] = tap / s->size_columns * s->dilation_rows;
    columns[j] = tap % s->size_columns * s->dilation_columns;
    places[j] = in_place(s, 0, rows[j], columns[j], element % s->in_channels);
  }
  for (uint p = 0; p < depth; ++p) {
    const Pixel at = pixel(1, s->out_rows, s->out_columns, 1, begin + p);
    const int row = (int)(at.row * s->stride_rows) - s->pad_rows;
    const int first = (int)(at.column * s->stride_columns) - s->pad_columns;
    const uint corner = in_place(s, at.image, row, first, 0);
    for (uint j = 0; j < WIDE; ++j) {
      const int inside = (uint)(row + rows[j]) < s->in_rows && (uint)(first + columns[j]) < s->in_columns;
      panel[p * WIDE + j] = inside ? x[corner + places[j]] : 0.0f;
    }
  }
}

// Rows are channels of the output, columns elements of the filter; a part of the pixels each.
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void gradient_of_filter(__global const float* xb, ulong x0, __global const float* gb, ulong g0,
                        __global float* fb, ulong f0, uint part_size, uint rows, Slide s) {
  const uint column = get_global_id(0) * WIDE, first = get_global_id(1) * rows, part = get_global_id(2);
  const uint whole = s.size_rows * s.size_columns * s.in_channels, channels = s.out_channels;
  const uint end = min(first + rows, channels), wide = min((uint)WIDE, whole - column);
  const uint image_size = s.out_rows * s.out_columns;
  const uint stop = min((part + 1) * part_size, s.batch * image_size);
  const ulong step = s.channels_first ? 1 : channels;
  float panel[DEPTH * WIDE];
  uint done = part * part_size, adds = 0;
  do {
    const uint depth = min((uint)DEPTH, stop - done);
    pack_windows(panel, xb + x0, &s, done, depth, column, wide);
    for (uint row = first; row < end; row += ROWS) {
      __global float* to[ROWS];
      for (uint i = 0; i < ROWS; ++i)
        to[i] = fb + f0 + ((ulong)part * whole + column) * channels + min(row + i, end - 1);
      EACH_ROW(NAME_SUM)
      for (uint q = 0; q < depth;) {  // of one image, where its channels come first
        const uint at = done + q, image = at / image_size, place = at % image_size;
        const uint run = s.channels_first ? min(image_size - place, depth - q) : depth;
        __global const float* from[ROWS];
        for (uint i = 0; i < ROWS; ++i) {
          const ulong channel = min(row + i, end - 1);
          from[i] = gb + g0 + (s.channels_first ? ((ulong)image * channels + channel) * image_size + place
                                                : (ulong)at * channels + channel);
        }
        EACH_ROW(NAME_ROW)
#undef FACTOR
#define FACTOR STEP
        ADD_PRODUCTS(panel + q * WIDE, run)
        q += run;
      }
      Wide sums[ROWS];
      EACH_ROW(GIVE_SUM)
      store_sums(sums, to, channels, min(end - row, (uint)ROWS), wide, adds);
    }
    done += depth;
    adds = 1;
  } while (done < stop);
}
)";

}  // namespace thalweg
