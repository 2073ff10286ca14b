# SPDX-License-Identifier: Apache-2.0
"""What trains: optimizers, savers, coordinators, sessions that look after themselves. Public as tw.train."""
