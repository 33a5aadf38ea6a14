"""Text without names and secrets: the same thing is replaced by the same mark everywhere, lines stay where they are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import TypeVar

import msgspec

from denpex_kb.model.secrets import hide_secrets
from denpex_kb.report import names

T = TypeVar("T")
_TELLING = 5  # letters from which on a user's name is replaced inside a longer name, too
_MARKS = {
    "secret": "secret-{}",
    "e-mail address": "user-{}@example.org",
    "user": "user-{}",
    "host": "host-{}",
    "bucket": "bucket-{}",
    "folder": "/dir-{}",
    "address": "192.0.2.{}",
    "address (IPv6)": "2001:db8::{}",
}


class Redactor:
    """Replaces what must not leave the house; learn from all of the text first, then redact its parts."""

    def __init__(self, hosts: Iterable[str] = (), users: Iterable[str] = ()) -> None:
        """Take names that are known already, such as the hosts of a diagnosis."""
        self._hosts = dict.fromkeys(hosts)
        self._users = dict.fromkeys(users)
        self._marks: dict[tuple[str, str], str] = {}
        self._pattern: re.Pattern[str] | None = None

    def learn(self, text: str) -> None:
        """Learn the names of hosts and users from where they stand."""
        self._hosts |= dict.fromkeys(names.hosts_in(text))
        self._users |= dict.fromkeys(names.users_in(text))
        self._pattern = None

    def know_hosts(self, hosts: Iterable[str]) -> None:
        """Take names that are known to be hosts."""
        self._hosts |= dict.fromkeys(host for host in hosts if len(host) > 2)
        self._pattern = None

    @property
    def replaced(self) -> Counter[str]:
        """How many different things of each kind were replaced."""
        return Counter(kind for kind, _ in self._marks)

    def marks(self) -> list[tuple[str, str]]:
        """Return every kind and mark in use, without what it stands for."""
        return [(kind, mark) for (kind, _), mark in self._marks.items()]

    def redact(self, text: str) -> str:
        """Redact a text; it keeps its number of lines."""
        text = hide_secrets(text, lambda value: self._mark("secret", value) + "\n" * value.count("\n"))
        text = names.EMAIL.sub(self._email, text)
        text = names.BUCKET.sub(self._bucket, text)
        text = names.URL.sub(self._url, text)
        text = names.PATH.sub(self._path, text)
        text = names.IPV6.sub(lambda match: self._address(match.group(0), "address (IPv6)"), text)
        text = names.IPV4.sub(lambda match: self._address(match.group(0), "address"), text)
        return self._named(text)

    def redact_names(self, value: T) -> T:
        """Replace only known names of hosts and users in the texts of a struct, which is not the user's text."""
        return msgspec.convert(self._walked(msgspec.to_builtins(value), self._named), type(value))

    def _named(self, text: str) -> str:
        return self._names().sub(self._name, text)

    def redact_struct(self, value: T) -> T:
        """Redact every text of a struct."""
        return msgspec.convert(self._walked(msgspec.to_builtins(value), self.redact), type(value))

    def learn_struct(self, value: object) -> None:
        """Learn from every text of a struct."""
        self.learn("\n".join(_texts(msgspec.to_builtins(value))))

    def _walked(self, data: object, change: Callable[[str], str]) -> object:
        if isinstance(data, str):
            return change(data)
        if isinstance(data, dict):
            return {key: self._walked(item, change) for key, item in data.items()}
        if isinstance(data, list | tuple):
            return [self._walked(item, change) for item in data]
        return data

    def _mark(self, kind: str, value: str) -> str:
        key = kind, value
        if key not in self._marks:
            number = sum(1 for held, _ in self._marks if held == kind) + 1
            self._marks[key] = _MARKS[kind].format(number)
        return self._marks[key]

    def _email(self, match: re.Match[str]) -> str:
        value = match.group(0)
        return value if value.endswith("@example.org") else self._mark("e-mail address", value)

    def _bucket(self, match: re.Match[str]) -> str:
        return f"{match.group(1)}://{self._mark('bucket', match.group(0))}"

    def _url(self, match: re.Match[str]) -> str:
        scheme, login, host, port, path = match.groups()
        if names.is_public_host(host) or path == "/":
            return match.group(0)
        return f"{scheme}://{login}{host}{port or ''}{self._mark('folder', path)}"

    def _path(self, match: re.Match[str]) -> str:
        parts = names.split_path(match.group(0))
        if parts is None:
            return match.group(0)
        own, rest = parts
        return self._mark("folder", own) + rest

    def _address(self, value: str, kind: str) -> str:
        return value if names.is_public_address(value) else self._mark(kind, value)

    def _names(self) -> re.Pattern[str]:
        if self._pattern is None:
            users = sorted(self._users, key=lambda name: (-len(name), name))
            choice = _choice(names.shortened(self._hosts) + users)
            part = _choice(name for name in users if len(name) >= _TELLING)  # `jdoe42-team`, `run_jdoe42`
            self._pattern = re.compile(
                rf"(?<![\w@.-])(?:{choice})(?![\w-])|(?<=[\w\]]@)(?:{choice})(?![\w-])"
                rf"|(?<![A-Za-z0-9@])(?:{part})(?![A-Za-z0-9])"
            )
        return self._pattern

    def _name(self, match: re.Match[str]) -> str:
        value = match.group(0)
        if value in self._users and value not in self._hosts:
            return self._mark("user", value)
        full = next((name for name in self._hosts if name.partition(".")[0] == value), value)
        return self._mark("host", full)


def _choice(known: Iterable[str]) -> str:
    """Write the alternatives of a pattern; one that never matches where there are none."""
    return "|".join(map(re.escape, dict.fromkeys(known))) or r"(?!)"


def _texts(data: object) -> Iterable[str]:
    if isinstance(data, str):
        yield data
    elif isinstance(data, dict):
        for item in data.values():
            yield from _texts(item)
    elif isinstance(data, list | tuple):
        for item in data:
            yield from _texts(item)
