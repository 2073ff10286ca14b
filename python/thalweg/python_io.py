# SPDX-License-Identifier: Apache-2.0
"""tw.python_io: files of records, written and read by a program itself rather than by a step."""
from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from thalweg import errors
from thalweg.base import names
from thalweg.files import records

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType
    from typing import BinaryIO, Self

    from thalweg.base.typing import PathLike

_CHUNK = 1 << 18


class TFRecordCompressionType:
    """How the bytes of a file are packed."""

    NONE, ZLIB, GZIP = 0, 1, 2


class TFRecordOptions:
    """How records are packed; the numbers are zlib's, None for its own."""

    compression_type_map = {TFRecordCompressionType.ZLIB: "ZLIB", TFRecordCompressionType.GZIP: "GZIP", TFRecordCompressionType.NONE: ""}

    def __init__(self, compression_type: int | str | None = None, flush_mode: int | None = None,
                 input_buffer_size: int | None = None, output_buffer_size: int | None = None, window_bits: int | None = None,
                 compression_level: int | None = None, compression_method: int | None = None, mem_level: int | None = None,
                 compression_strategy: int | None = None) -> None:
        self.get_compression_type_string(compression_type)
        self.compression_type, self.flush_mode = compression_type, flush_mode
        self.input_buffer_size, self.output_buffer_size = input_buffer_size, output_buffer_size
        self.window_bits, self.compression_level, self.compression_method = window_bits, compression_level, compression_method
        self.mem_level, self.compression_strategy = mem_level, compression_strategy

    @classmethod
    def get_compression_type_string(cls, options: TFRecordOptions | int | str | None) -> str:
        """"", "ZLIB" or "GZIP" of options, a name, one of TFRecordCompressionType, or None."""
        if not options:
            return ""
        if isinstance(options, TFRecordOptions):
            return cls.get_compression_type_string(options.compression_type)
        if options in cls.compression_type_map:
            return cls.compression_type_map[options]
        if options in cls.compression_type_map.values():
            return options
        raise ValueError(f'Not a valid compression_type: "{options}"')


def _window(options, kind):
    """zlib's number for the window and the header."""
    bits = getattr(options, "window_bits", None) or zlib.MAX_WBITS
    return bits + 16 if kind == "GZIP" else bits


def _packer(options):
    """What packs, or None."""
    kind = TFRecordOptions.get_compression_type_string(options)
    if not kind:
        return None

    def given(name, standard):
        value = getattr(options, name, None)
        return standard if value is None else value
    return zlib.compressobj(given("compression_level", zlib.Z_DEFAULT_COMPRESSION), zlib.DEFLATED, _window(options, kind),
                            given("mem_level", zlib.DEF_MEM_LEVEL), given("compression_strategy", zlib.Z_DEFAULT_STRATEGY))


class TFRecordWriter:
    """with TFRecordWriter("data") as writer: writer.write(example.SerializeToString())"""

    def __init__(self, path: PathLike, options: TFRecordOptions | int | str | None = None) -> None:
        self._packer = _packer(options)
        self._file = _opened(path, "wb")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, unused_type: type[BaseException] | None, unused_value: BaseException | None,
                 unused_traceback: TracebackType | None) -> None:
        self.close()

    def _put(self, data):
        if self._file is None:
            raise errors.FailedPreconditionError(None, None, "Writer not initialized or previously closed")
        self._file.write(data)

    def write(self, record: bytes) -> None:
        """Adds a record."""
        if not isinstance(record, bytes):
            raise TypeError(f"expected bytes, {type(record).__name__} found")
        data = records.frame(record)
        self._put(self._packer.compress(data) if self._packer and self._file else data)

    def flush(self) -> None:
        """Makes what was written so far readable."""
        self._put(self._packer.flush(zlib.Z_SYNC_FLUSH) if self._packer and self._file else b"")
        self._file.flush()

    def close(self) -> None:
        """Ends the file; a second time does nothing."""
        if self._file is not None:
            self._put(self._packer.flush() if self._packer else b"")
            self._file.close()
            self._file = None


class _Unpacked:
    """The bytes of a file, unpacked as they are asked for."""

    def __init__(self, file: BinaryIO, path: PathLike, unpacker: object) -> None:
        self._file, self._path, self._unpacker, self._ready = file, path, unpacker, b""

    def _more(self):
        """What comes next; nothing at the end."""
        found = b""
        while not found:
            data = self._unpacker.unconsumed_tail if self._unpacker else b""
            data = data or self._file.read(_CHUNK)
            if not self._unpacker or not data:
                return data
            try:
                found = self._unpacker.decompress(data, _CHUNK)
            except zlib.error as error:
                raise errors.DataLossError(None, None, f"{self._path} is not packed like this: {error}") from None
        return found

    def read(self, size: int) -> bytes:
        """As many bytes; fewer at the end."""
        parts, count = [self._ready], len(self._ready)
        while count < size:
            parts.append(self._more())
            if not parts[-1]:
                break
            count += len(parts[-1])
        whole = b"".join(parts)
        self._ready = whole[size:]
        return whole[:size]


def _opened(path, mode):
    try:
        return open(path, mode)
    except FileNotFoundError:
        raise errors.NotFoundError(None, None, f"{path}; No such file or directory") from None
    except PermissionError:
        raise errors.PermissionDeniedError(None, None, f"{path}; Permission denied") from None


def tf_record_iterator(path: PathLike, options: TFRecordOptions | int | str | None = None) -> Iterator[bytes]:
    """The records of a file, as bytes; DataLossError where it is damaged."""
    kind = TFRecordOptions.get_compression_type_string(options)
    with _opened(path, "rb") as file:
        source = _Unpacked(file, path, zlib.decompressobj(_window(options, kind)) if kind else None)
        yield from records.read(source)


names.complete(globals())
