# SPDX-License-Identifier: Apache-2.0
"""TensorFlow's own modules and later names, for programs that ask for them."""
