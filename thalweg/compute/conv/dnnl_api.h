// SPDX-License-Identifier: Apache-2.0
// The table of functions between this library and libthalweg_dnnl.so, the component that holds
// oneDNN. Plain C on purpose: the two are built apart and share no symbols. Private to
// compute/conv.
//
//   const ThalwegDnnlApi* api = thalweg_dnnl_api(THALWEG_DNNL_VERSION, level);   // by dlsym
//
// Images are [batch, rows, columns, channels] of float. The filter is [rows, columns, in, out] on
// this side of pack_filter and unpack_filter, or a part of the channels of such a one, and in a
// layout of the plan's choice beyond them.
// Ownership: a plan is the caller's, until free; operands and scratch are lent for a call.
// Threads: every function may be called from any thread, one plan from several at once; each runs
// in its caller alone.
// Errors: null from make, a number other than 0 from the others; no words.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

#define THALWEG_DNNL_VERSION 2

enum ThalwegDnnlForm {
  kThalwegDnnlForward = 0,
  kThalwegDnnlBackwardInput = 1,
  kThalwegDnnlBackwardFilter = 2,
};

// [0]: rows, [1]: columns. Dilation 1 is none.
struct ThalwegDnnlConv {
  int64_t form;
  int64_t batch, in_channels, out_channels;
  int64_t input[2], output[2], filter[2], stride[2], dilation[2], pad_before[2], pad_after[2];
  // Channels of the filter that this convolution's is a part of; its own numbers when it is whole.
  int64_t whole_in, whole_out;
  int64_t bias, add, relu;  // of the forward form; 0 or 1. add: to what the output holds before
};

struct ThalwegDnnlPlan;

struct ThalwegDnnlApi {
  // Null when oneDNN has no fast kernel for it. The scratch is what run wants.
  ThalwegDnnlPlan* (*make)(const ThalwegDnnlConv* conv, size_t* scratch_bytes,
                           size_t* filter_bytes);
  void (*free)(ThalwegDnnlPlan* plan);
  // Bytes that are the same for plans that lay the filter out alike; they live as long as the plan.
  const void* (*filter_format)(const ThalwegDnnlPlan* plan, size_t* size);
  // All below return 0 when they have worked.
  int (*pack_filter)(const ThalwegDnnlPlan* plan, const float* filter, float* packed);
  int (*unpack_filter)(const ThalwegDnnlPlan* plan, const float* packed, float* filter);
  // One of input, packed filter and output is written, as the form says.
  int (*run)(const ThalwegDnnlPlan* plan, float* input, float* packed, const float* bias,
             float* output, void* scratch);
};

// `level`: the instruction set level (isa.h) that no kernel may exceed; the first call decides.
// Null for a version that the component does not know.
typedef const ThalwegDnnlApi* (*ThalwegDnnlEntry)(int version, int level);
}
