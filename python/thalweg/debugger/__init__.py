# SPDX-License-Identifier: Apache-2.0
"""What looks into steps: failing ones kept and run again, breakpoints, dumps. Public as `tw.debugging` and `tensorflow.python.debug`."""
