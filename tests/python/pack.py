"""Pack a wheel again, as small as deflate can: pack.py WHEEL."""

import sys
import zipfile
from unittest import mock

import zopfli.zlib


class Zopfli:
    """What zipfile takes for a compressor: all comes out at the end, without zlib's frame."""

    def __init__(self, *_: object) -> None:
        """Start with nothing."""
        self.content = bytearray()

    def compress(self, part: bytes) -> bytes:
        """Take a part."""
        self.content += part
        return b""

    def flush(self) -> bytes:
        """Return all that came, packed."""
        return zopfli.zlib.compress(bytes(self.content))[2:-4]


def files(path: str) -> list[tuple[zipfile.ZipInfo, bytes]]:
    """Return what is in an archive."""
    with zipfile.ZipFile(path) as archive:
        return [(entry, archive.read(entry)) for entry in archive.infolist()]


def main(path: str) -> None:
    """Pack a wheel again."""
    before = files(path)
    with mock.patch("zipfile._get_compressor", Zopfli), zipfile.ZipFile(path, "w") as archive:
        for entry, content in before:
            archive.writestr(entry, content)
    named = [[(entry.filename, content) for entry, content in these] for these in (before, files(path))]
    if named[0] != named[1]:
        sys.exit(f"{path} is not what it was")


main(sys.argv[1])
