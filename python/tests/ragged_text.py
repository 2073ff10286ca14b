# SPDX-License-Identifier: Apache-2.0
"""Functions of strings, and values as strings. ragged_cases.py says how to read it."""

EXPRESSIONS = """
strings.length strings.lower strings.upper strings.strip encode_base64: words
decode_base64: t.encode_base64(words)
strings.join: [words, words], "-"; [words, "x"]; ["x", words, "y"], separator=","
strings.substr: words, 1, 2
strings.regex_replace: words, "e", "E"
strings.regex_full_match: words, "t.*"
strings.to_hash_bucket strings.to_hash_bucket_fast string_to_hash_bucket: words, 7
strings.to_hash_bucket_strong: words, 7, [1, 2]
strings.to_number: t.ragged.constant([["1", "2.5"], []])
strings.unicode_transcode: words, "UTF-8", "UTF-16-BE"
strings.reduce_join: words; words, axis=0; words, axis=1; words, axis=-1, separator="+"
reduce_join: words, 1
as_string strings.unicode_script: rows
strings.format: "{}", rows; "{}", real; "{}", pairs, summarize=1; "{} x {}", [deep, rows]; "{} {}", [words, [1, 2]]
strings.format: "{}", [t.ragged.range(20)]; "{}", [t.ragged.constant([[i] for i in range(12)])]
"""
