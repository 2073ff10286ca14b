// SPDX-License-Identifier: Apache-2.0
// The functions of the C ABI that take or give protocol messages.
#include "thalweg/api/handles.h"
#include "thalweg/graph/graph_proto.h"
#include "thalweg/tensor/tensor_proto.h"
