"""Lays the memory of a process out so that forks of it are cheap.

A fork gets a copy of each page of memory that it writes to, and an entry of its
page table for each that is there. So what is free between the allocations is
taken up, for new ones to lie together, and small pages are put together to large
ones. Sources: mallinfo(3), madvise(2).
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path

_MADV_COLLAPSE = 25
_LARGE_PAGE = 2 << 20


class _Statistics(ctypes.Structure):
    """`struct mallinfo2`; the last is what is free at the top of the heap."""

    _fields_ = tuple((name, ctypes.c_size_t) for name in (*"abcdefghi", "top"))


def settle() -> None:
    """Do both, as far as this libc and this system can."""
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallinfo2"):
        _fill(libc)
    for start, end in _written_to():
        # Where that fails, as before Linux 6.1, pages stay as they are.
        libc.madvise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), _MADV_COLLAPSE)


def _fill(libc: ctypes.CDLL) -> None:
    """Allocate, from large to small, until only the top of the heap has room for that."""
    libc.mallinfo2.restype = _Statistics
    libc.malloc.restype = ctypes.c_void_p
    for size in (*(2**n for n in range(16, 11, -1)), *range(2048, 16, -16)):
        top = libc.mallinfo2().top
        while libc.mallinfo2().top == top and libc.malloc(ctypes.c_size_t(size - 8)):
            pass


def _written_to() -> Iterator[tuple[int, int]]:
    """Where this process has memory that belongs to no file, in whole large pages."""
    for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
        addresses, access, _, _, _, *name = line.split()
        start, end = (int(address, 16) for address in addresses.split("-"))
        start, end = -(-start // _LARGE_PAGE) * _LARGE_PAGE, end // _LARGE_PAGE * _LARGE_PAGE
        if access == "rw-p" and name in ([], ["[heap]"]) and start < end:
            yield start, end
