# SPDX-License-Identifier: Apache-2.0
"""Which symbols the cases of rnn_cases.py show; their values are in rnn_recorded.json. See symbol_cases.py."""
from symbol_cases import SHOWN

SHOWN.update(
    contrib__learn__ModeKeys="estimator.ModeKeys",
    basic_lstm="contrib.rnn.BasicLSTMCell nn.dynamic_rnn contrib.rnn.LSTMStateTuple", bidirectional="nn.bidirectional_dynamic_rnn",
    deep="contrib.rnn.MultiRNNCell nn.rnn_cell.MultiRNNCell contrib.rnn.ResidualWrapper", device="contrib.rnn.DeviceWrapper",
    dropped="contrib.rnn.DropoutWrapper", gru="contrib.rnn.GRUCell", gru_static="contrib.rnn.static_rnn",
    layer_norm="contrib.rnn.LayerNormBasicLSTMCell", lstm="contrib.rnn.LSTMCell nn.rnn_cell.LSTMCell",
    lstm_block="contrib.rnn.LSTMBlockCell", nas="contrib.rnn.NASCell", own_cell="contrib.rnn.RNNCell",
    static_bidirectional="contrib.rnn.static_bidirectional_rnn")
