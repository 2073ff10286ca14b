# SPDX-License-Identifier: Apache-2.0
"""Operations that run when they are made: the tensors, the graph that is no graph, prepared operations, tapes."""
