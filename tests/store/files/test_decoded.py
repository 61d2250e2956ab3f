"""Decoded bytes of every form of file."""

import io

import pytest

from headrace.errors import DamagedBlockError, HeadraceWarning
from headrace.kernel.rows import Decoding
from headrace.store.files.opened import decoded
from headrace.store.files.source import expand
from tests.reference.blocks import (
    anywhere,
    joined,
    lengths,
    seek_table,
    seekable_zstd,
    zstd_frames,
)
from tests.reference.compressed import FORMS

DATA = b"".join(b'{"row": %d}\r\n' % row for row in range(3000)) + b"no end"


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_its_bytes(tmp_path, form, threads):
    path = tmp_path / "a"
    path.write_bytes(FORMS[form](DATA))
    (source,) = expand(path)
    assert b"".join(decoded(source, decoding=Decoding(threads))) == DATA


def test_a_reader_gives_its_bytes():
    (source,) = expand(io.BytesIO(FORMS["gzip"](DATA)))
    assert b"".join(decoded(source)) == DATA


FRAMES = zstd_frames(anywhere(DATA, 1000))


def test_a_wrong_table_loses_no_byte(tmp_path):
    table = lengths(FRAMES)
    table[20] = (table[20][0], table[20][1] - 1)
    path = tmp_path / "a"
    path.write_bytes(joined(FRAMES) + seek_table(table))
    (source,) = expand(path)
    with pytest.warns(HeadraceWarning) as caught:
        assert b"".join(decoded(source)) == DATA
    assert len(caught) == 1


def test_all_bytes_come_before_the_failure(tmp_path):
    content = bytearray(seekable_zstd(FRAMES))
    before = sum(len(piece.compressed) for piece in FRAMES[:20])
    content[before + len(FRAMES[20].compressed) - 1] ^= 1
    path = tmp_path / "a"
    path.write_bytes(content)
    found = []
    with pytest.raises(DamagedBlockError):
        found.extend(decoded(*expand(path), decoding=Decoding(2)))
    assert b"".join(found) == DATA[:20_000]
