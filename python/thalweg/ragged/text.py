# SPDX-License-Identifier: Apache-2.0
"""Strings as rows of characters: what `tw.strings.unicode_*` are."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.graph.graph import name_scope
from thalweg.graph.ops import apply
from thalweg.graph.tensor import Tensor
from thalweg.operations import array_ops, math_ops
from thalweg.ragged import partitions
from thalweg.ragged.ragged_tensor import RaggedTensor, ragged_or_tensor

if TYPE_CHECKING:
    from thalweg.base.typing import TensorLike

    Texts = TensorLike | RaggedTensor


def _decoded(texts, attrs, offsets):
    """[code points] and, with `offsets`, the bytes where they begin; each as rows of the texts."""
    if isinstance(texts, RaggedTensor):
        return [texts.with_flat_values(part) for part in _decoded(texts.flat_values, attrs, offsets)]
    rank = texts.shape.ndims
    if rank is None:
        raise ValueError("Rank of `input` must be statically known.")
    if rank > 1:
        return _decoded(RaggedTensor.from_tensor(texts, ragged_rank=rank - 1), attrs, offsets)
    flat = array_ops.reshape(texts, [1]) if rank == 0 else texts
    splits, *parts = apply("UnicodeDecodeWithOffsets" if offsets else "UnicodeDecode", [flat], attrs)
    return parts if rank == 0 else [RaggedTensor._of(part, splits) for part in parts]


def _attrs(input_encoding, errors, replacement_char, replace_control_characters):
    return {"input_encoding": input_encoding, "errors": errors, "replacement_char": replacement_char,
            "replace_control_characters": replace_control_characters}


def unicode_decode(input: Texts, input_encoding: str, errors: str = "replace", replacement_char: int = 65533,
                   replace_control_characters: bool = False, name: str | None = None) -> Tensor | RaggedTensor:
    """The code points of strings.

    Parameters
    ----------
    input : string Tensor or RaggedTensor
    input_encoding : str
        "UTF-8", "UTF-16-BE", "UTF-32-BE" or another that the operation takes.
    errors : str
        What becomes of bytes that are no character: "replace", "ignore", or the step fails: "strict".
    replacement_char : int
        What they become with "replace".
    replace_control_characters : bool
        Whether characters below 32 are replaced, too.
    name : str, optional

    Returns
    -------
    Tensor or RaggedTensor
        int32, of one dimension more than `input`: a Tensor for one string, else ragged.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.strings.unicode_decode(["a", "bc"], "UTF-8")).to_list())
    [[97], [98, 99]]
    """
    with name_scope(name, "UnicodeDecode", [input]):
        return _decoded(ragged_or_tensor(input, dtypes.string, "input"),
                        _attrs(input_encoding, errors, replacement_char, replace_control_characters), False)[0]


def unicode_decode_with_offsets(input: Texts, input_encoding: str, errors: str = "replace", replacement_char: int = 65533,
                                replace_control_characters: bool = False,
                                name: str | None = None) -> tuple[Tensor | RaggedTensor, Tensor | RaggedTensor]:
    """The code points of strings, and the byte of its string at which each begins."""
    with name_scope(name, "UnicodeDecodeWithOffsets", [input]):
        return tuple(_decoded(ragged_or_tensor(input, dtypes.string, "input"),
                              _attrs(input_encoding, errors, replacement_char, replace_control_characters), True))


def _characters(codes, encoding, errors, replacement_char):
    """Each code point as a string of its own."""
    if isinstance(codes, RaggedTensor):
        return codes.with_flat_values(_characters(codes.flat_values, encoding, errors, replacement_char))
    ends = math_ops.range_(partitions.length_of(codes, dtypes.int64) + 1)
    return apply("UnicodeEncode", [codes, ends], {"output_encoding": encoding, "errors": errors, "replacement_char": replacement_char})


def unicode_split(input: Texts, input_encoding: str, errors: str = "replace", replacement_char: int = 65533,
                  name: str | None = None) -> Tensor | RaggedTensor:
    """The characters of strings, each a string.

    Parameters
    ----------
    input : string Tensor or RaggedTensor
    input_encoding : str
    errors : str
        "replace", "ignore" or "strict", as of `unicode_decode`.
    replacement_char : int
    name : str, optional

    Returns
    -------
    Tensor or RaggedTensor
        Of one dimension more than `input`.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.strings.unicode_split(["ab", "c"], "UTF-8")).to_list())
    [[b'a', b'b'], [b'c']]
    """
    with name_scope(name, "UnicodeSplit", [input]):
        codes = unicode_decode(input, input_encoding, errors, replacement_char)
        return _characters(codes, input_encoding, "ignore", replacement_char)


def unicode_split_with_offsets(input: Texts, input_encoding: str, errors: str = "replace", replacement_char: int = 65533,
                               name: str | None = None) -> tuple[Tensor | RaggedTensor, Tensor | RaggedTensor]:
    """The characters of strings, and the byte of its string at which each begins."""
    with name_scope(name, "UnicodeSplitWithOffsets", [input]):
        codes, begins = unicode_decode_with_offsets(input, input_encoding, errors, replacement_char)
        return _characters(codes, input_encoding, "ignore", replacement_char), begins


def unicode_encode(input: Texts, output_encoding: str, errors: str = "replace", replacement_char: int = 65533,
                   name: str | None = None) -> Tensor | RaggedTensor:
    """The strings of code points.

    Parameters
    ----------
    input : int32 Tensor or RaggedTensor
        The last dimension goes along a string.
    output_encoding : str
        "UTF-8", "UTF-16-BE" or "UTF-32-BE".
    errors : str
        What becomes of numbers that are no code point: "replace", "ignore" or "strict".
    replacement_char : int
    name : str, optional

    Returns
    -------
    Tensor or RaggedTensor
        Of one dimension less than `input`.

    Examples
    --------
    >>> codes = tw.ragged.constant([[97], [98, 99]], tw.int32)
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.strings.unicode_encode(codes, "UTF-8")))
    [b'a' b'bc']
    """
    attrs = {"output_encoding": output_encoding, "errors": errors, "replacement_char": replacement_char}
    with name_scope(name, "UnicodeEncode", [input]):
        return _encoded(ragged_or_tensor(input, None, "input"), attrs)


def _encoded(codes, attrs):
    if isinstance(codes, RaggedTensor):
        if codes.ragged_rank > 1:
            return codes.with_values(_encoded(codes.values, attrs))
        if codes.flat_values.shape.ndims is not None and codes.flat_values.shape.ndims > 1:
            return codes.with_values(_encoded(codes.flat_values, attrs))
        return apply("UnicodeEncode", [codes.flat_values, codes.row_splits], attrs)
    rank = codes.shape.ndims
    if rank is None:
        raise ValueError("Rank of input_tensor must be statically known.")
    if rank == 0:
        raise ValueError("input_tensor's rank must be at least 1.")
    if rank == 1:
        ends = array_ops.stack([0, partitions.length_of(codes, dtypes.int64)])
        return array_ops.reshape(apply("UnicodeEncode", [codes, ends], attrs), [])
    if rank == 2:
        return _encoded(RaggedTensor.from_tensor(codes), attrs)
    sizes = array_ops.shape(codes)
    flat = _encoded(array_ops.reshape(codes, array_ops.concat([[-1], sizes[-1:]], axis=0)), attrs)
    return array_ops.reshape(flat, sizes[:-1])
