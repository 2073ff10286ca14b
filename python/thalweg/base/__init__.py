# SPDX-License-Identifier: Apache-2.0
"""What the whole package stands on: names, shapes, attributes. No graph."""
