/* SPDX-License-Identifier: Apache-2.0
 * An operation in a shared object of its own: Clamp puts every element of x between -limit and
 * limit. */
#include <thalweg/kernel_api.h>

static int ClampShape(TwShapeCall* call, const TwKernelApi* api) {
  int64_t dims[254];
  const int32_t rank = api->input_rank(call, 0);
  for (int32_t i = 0; i < rank; ++i) dims[i] = api->input_dim(call, 0, i);
  return api->set_output_shape(call, 0, dims, rank);
}

static int Clamp(TwKernelCall* call, const TwKernelApi* api) {
  TwTensorView x, y;
  float limit;
  if (!api->input(call, 0, &x) || !api->attr_float(call, "limit", &limit)) return 0;
  if (!(limit >= 0)) return api->fail(call, 3, "limit must not be negative");
  if (!api->allocate_output(call, 0, x.dtype, x.dims, x.rank, &y)) return 0;
  const float* from = (const float*)x.data;
  float* to = (float*)y.data;
  for (int64_t i = 0; i < x.num_elements; ++i) {
    to[i] = from[i] > limit ? limit : from[i] < -limit ? -limit : from[i];
  }
  return 1;
}

int tw_register(const TwKernelApi* api, TwRegistrar* registrar) {
  return api->define_op(
             registrar,
             "name: 'Clamp' "
             "input_arg { name: 'x' type: DT_FLOAT } output_arg { name: 'y' type: DT_FLOAT } "
             "attr { name: 'limit' type: 'float' default_value { f: 1 } }",
             ClampShape) &&
         api->add_kernel(registrar, "Clamp", "CPU", Clamp);
}
