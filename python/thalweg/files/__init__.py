# SPDX-License-Identifier: Apache-2.0
"""Files: of records, and under TensorFlow 2's names."""
