"""Names of clients: kept for people, made safe for files, folders and TensorBoard tags."""

from __future__ import annotations

import hashlib
import re
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from fedlight.errors import ConfigurationError, DataError

_PLAIN_START = re.compile(r"[^.-]")
_ODD_ASCII = re.compile(r"[^A-Za-z0-9_.\x80-\U0010ffff-]")
# In UTF-8; many file systems take 255, of which suffixes and temporary names need some.
_PLAIN_BYTES, _READABLE_BYTES = 80, 60
_SUFFIXED = re.compile(r".*-[0-9a-f]{8}", re.DOTALL)
_WINDOWS_DEVICE = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\..*)?", re.IGNORECASE)
_SUMMARY_ROWS = ("all", "all_macro")


def safe_name(name: str) -> str:
    """Return ``name`` fit for a file, folder or tag on every common system; different names stay different.

    A plain name of up to 80 bytes is unchanged: letters, marks and digits of any script, ``_``, ``.`` and ``-``, in
    Unicode NFC. Otherwise odd characters become ``_`` and eight digits of the name's SHA-256 follow; a name that
    already ends like that gets its own digits, so that no two names meet. Where the file system takes ASCII only, all
    else is odd.

    >>> safe_name("hospital_a")
    'hospital_a'
    >>> safe_name("a:b")
    'a_b-6783a31e'
    >>> safe_name("größe")
    'größe'
    """
    kept = _without_odd(name)
    plain = kept == name and _PLAIN_START.match(name) and not name.endswith(".") and len(name.encode()) <= _PLAIN_BYTES
    if plain and not _SUFFIXED.fullmatch(name) and not _WINDOWS_DEVICE.fullmatch(name):
        return name
    readable = re.sub(r"^-|\.", "_", kept).encode()[:_READABLE_BYTES].decode(errors="ignore") or "_"
    return f"{readable}-{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def _without_odd(name: str) -> str:
    """NFC, with ``_`` for odd characters of ASCII, for separators, and for what is not to be seen or no character."""
    try:
        name.encode(sys.getfilesystemencoding())
    except UnicodeEncodeError:
        name = re.sub(r"[^\x00-\x7f]", "_", name)
    composed = _ODD_ASCII.sub("_", unicodedata.normalize("NFC", name))
    return "".join("_" if unicodedata.category(char)[0] in "ZC" else char for char in composed)


def check_client_names(names: Iterable[str]) -> list[str]:
    """Return the names sorted, as clients are numbered.

    Raises:
        DataError: when two names are equal, differ only in case (one folder on some systems), or when a name is
            empty, holds a control character or is one of the summary's rows ``all`` and ``all_macro``.
    """
    ordered = sorted(names)
    seen: dict[str, str] = {}
    for name in ordered:
        if name in _SUMMARY_ROWS:
            raise DataError(f"client name {name!r} is that of a row of means over all clients: rename the client")
        if not name.strip() or not name.isprintable():
            raise DataError(f"client name {name!r} is empty or holds what can't be printed: rename the client")
        other = seen.get(name.casefold())
        if other is not None:
            raise DataError(f"client names {other!r} and {name!r} are the same for some file systems: rename one")
        seen[name.casefold()] = name
    return ordered


def choose_names(names: Sequence[str], chosen: Sequence[str] | None) -> list[str]:
    """Return all ``names`` of clients, or those ``chosen``, sorted.

    Raises:
        ConfigurationError: for a chosen name that is no text or that no client has, with the nearest one, and for an
            empty list.
        DataError: for names that can't be told apart.
    """
    if chosen is not None and not chosen:
        raise ConfigurationError("clients: an empty list names nobody; leave the option out for all clients")
    for name in chosen or ():
        if not isinstance(name, str):
            raise ConfigurationError(f"clients: {name!r} is no text; quote names like 'no' and '007' in YAML")
        if name not in names:
            near = get_close_matches(name, names, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(sorted(names)[:8])}"
            raise ConfigurationError(f"clients: no client is called {name!r}; {hint}")
    return check_client_names(names if chosen is None else chosen)
