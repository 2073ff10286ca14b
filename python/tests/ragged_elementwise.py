# SPDX-License-Identifier: Apache-2.0
"""Functions of values of the same rows, each by itself: of one operand, and of several that are alike. ragged_cases.py says how to read it."""

EXPRESSIONS = """
exp log sqrt floor round sigmoid tanh sin erf lgamma reciprocal is_nan: real
math.log_sigmoid nn.softplus nn.softsign nn.selu: real
nn.elu nn.leaky_relu: real - 1.0
sign nn.relu: rows - 3
negative stop_gradient bitwise.invert nn.relu6: rows
abs: -rows; value
square: pairs
logical_not: flags
clip_by_value: rows, 2, 5
check_numerics: real, "bad"
nn.dropout: real, rate=0.0
identity: rows; deep
zeros_like: rows; deep, dtype=t.bool
ones_like: rows; rows, dtype=t.float32

cast: rows, t.float32; rows, t.int32
to_float: rows
to_int64: small
saturate_cast: rows * 100, t.uint8
bitcast: rows, t.float32
real: t.complex(real, real)
imag: t.complex(real, 2.0)
angle: t.cast(real, t.complex64)

multiply truediv maximum squared_difference less greater_equal bitwise.left_shift: rows, more
divide div floordiv pow: rows, 2
floormod mod less_equal: rows, 3
truncatediv truncatemod: -rows, 2
not_equal bitwise.bitwise_and: rows, 1
equal: rows, more; rows, 1
minimum: rows, 4
greater: 4, rows
subtract: 10, rows
scalar_mul: 2, rows
atan2 realdiv: real, real
div_no_nan: real, 0.0
logical_and: flags, flags
logical_or: flags, False
logical_xor: flags, True
add_n: [rows, more, rows]; [rows]
assert_equal: rows, rows
nn.sigmoid_cross_entropy_with_logits: labels=real, logits=real
ragged.map_flat_values: t.add, rows, 1; t.reshape, rows, [-1, 1]; t.reduce_sum, rows

-rows
abs(-rows)
~flags
flags ?: & flags; | True; ^ flags
rows ?: ** 2; // 2; % 2; / 2; - more; < 3; >= more
? rows: 2 **; 7 //; 1 -; 3 <
"""
