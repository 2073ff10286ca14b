# SPDX-License-Identifier: Apache-2.0
"""tw.contrib.learn.preprocessing: documents as rows of numbers of words."""
from __future__ import annotations

import pickle
import re
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any, Self

    from thalweg.base.typing import Array, PathLike

TOKENIZER_RE = re.compile(r"[A-Z]{2,}(?![a-z])|[A-Z][a-z]+(?=[A-Z])|[\'\w\-]+", re.UNICODE)


def tokenizer(iterator: Iterable[str]) -> Iterator[list[str]]:
    """The words of each text."""
    for text in iterator:
        yield TOKENIZER_RE.findall(text)


class CategoricalVocabulary:
    """Words by number: 0 is the unknown one."""

    def __init__(self, unknown_token: str = "<UNK>", support_reverse: bool = True) -> None:
        self._unknown_token, self._support_reverse = unknown_token, support_reverse
        self._mapping, self._reverse_mapping = {unknown_token: 0}, [unknown_token]
        self._freq, self._freeze = {}, False

    def __len__(self) -> int:
        return len(self._mapping)

    def freeze(self, freeze: bool = True) -> None:
        """From now on new words are unknown ones."""
        self._freeze = freeze

    def get(self, category: object) -> int:
        """The number of a word, which is new to it if need be."""
        if category not in self._mapping:
            if self._freeze:
                return 0
            self._mapping[category] = len(self._mapping)
            self._reverse_mapping.append(category)
        return self._mapping[category]

    def add(self, category: object, count: int = 1) -> None:
        """Counts a word."""
        number = self.get(category)
        if number <= 0:
            return
        self._freq[category] = self._freq.get(category, 0) + count

    def trim(self, min_frequency: float, max_frequency: float = -1) -> None:
        """Drops words that are counted at most min_frequency times, or max_frequency and more; others are numbered by count."""
        counted = sorted(sorted(self._freq.items(), key=lambda row: (isinstance(row[0], str), row[0])),
                         key=lambda row: row[1], reverse=True)
        kept = [row for row in counted if row[1] > min_frequency and not 0 < max_frequency <= row[1]]
        self._reverse_mapping = [self._unknown_token] + [category for category, _ in kept]
        self._mapping = {category: i for i, category in enumerate(self._reverse_mapping)}
        self._freq = dict(kept)

    def reverse(self, class_id: int) -> Any:
        """The word of a number."""
        if not self._support_reverse:
            raise ValueError("This vocabulary wasn't initialized with support_reverse to support reverse() function.")
        return self._reverse_mapping[class_id]


class VocabularyProcessor:
    """Documents as rows of `max_document_length` numbers; 0 for unknown words and beyond the end.

    Parameters
    ----------
    max_document_length : int
        How long rows are.
    min_frequency : float
        Words that are counted no more often are unknown.
    vocabulary : CategoricalVocabulary, optional
        Words by number; a new one by default.
    tokenizer_fn : callable, optional
        Gives the words of each of the documents.

    Examples
    --------
    >>> processor = tw.contrib.learn.preprocessing.VocabularyProcessor(4)
    >>> [row.tolist() for row in processor.fit_transform(["a b a", "b c"])]
    [[1, 2, 1, 0], [2, 3, 0, 0]]
    """

    def __init__(self, max_document_length: int, min_frequency: float = 0, vocabulary: CategoricalVocabulary | None = None,
                 tokenizer_fn: Callable[[Iterable[str]], Iterable[Sequence[str]]] | None = None) -> None:
        self.max_document_length, self.min_frequency = max_document_length, min_frequency
        self.vocabulary_ = vocabulary or CategoricalVocabulary()
        self._tokenizer = tokenizer_fn or tokenizer

    def fit(self, raw_documents: Iterable[str], unused_y: object = None) -> Self:
        """Learns the words of the documents."""
        for tokens in self._tokenizer(raw_documents):
            for token in tokens:
                self.vocabulary_.add(token)
        if self.min_frequency > 0:
            self.vocabulary_.trim(self.min_frequency)
        self.vocabulary_.freeze()
        return self

    def fit_transform(self, raw_documents: Iterable[str], unused_y: object = None) -> Iterator[Array]:
        """fit, then transform."""
        self.fit(raw_documents)
        return self.transform(raw_documents)

    def transform(self, raw_documents: Iterable[str]) -> Iterator[Array]:
        """Yields the row of each document."""
        for tokens in self._tokenizer(raw_documents):
            row = np.zeros(self.max_document_length, np.int64)
            for i, token in enumerate(tokens[:self.max_document_length]):
                row[i] = self.vocabulary_.get(token)
            yield row

    def reverse(self, documents: Iterable[Sequence[int]]) -> Iterator[str]:
        """Yields the text of each row."""
        for row in documents:
            yield " ".join(self.vocabulary_.reverse(number) for number in row)

    def save(self, filename: PathLike) -> None:
        """Writes all to a file."""
        with open(filename, "wb") as f:
            f.write(pickle.dumps(self))

    @classmethod
    def restore(cls, filename: PathLike) -> Any:
        """What save has written; only of files that one trusts, as it is a pickle."""
        with open(filename, "rb") as f:
            return pickle.loads(f.read())
