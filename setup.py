"""Build a wheel that brings one import name: `bot`, `tools` and so on become `parley_chat.bot`, `parley_chat.tools`.

In the repository the packages have short, common names. In everybody's `site-packages` they would overwrite those of
other distributions, and a user's own `tools.py` would stand before ours. So the wheel's modules are written with the
long names, found by the syntax tree; nothing but these names changes, and no line moves. An editable install and a
clone keep the short ones.
"""

from __future__ import annotations

import ast
import itertools
import os
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py
from setuptools.command.editable_wheel import editable_wheel

ROOT = Path(__file__).resolve().parent
NAME = "parley_chat"
FOLDERS = ("adapters", "bot", "playground", "tools")
OWN = [NAME, f"{NAME}.agents", f"{NAME}.contract"]
PACKAGES = find_packages(str(ROOT), include=[pattern for name in FOLDERS for pattern in (name, f"{name}.*")])
DATA = {"adapters.slack": ["manifest.yaml"], "bot.operations": ["page/*"], "playground": ["page/*", "page/**/*"]}

_OURS = "|".join(FOLDERS)
_DOTTED = re.compile(rf"({_OURS})(\.\w+)+")
_STARTED = re.compile(rf"-m (?=(?:{_OURS})\b)")
_PATH = re.compile(rf"({_OURS})(/[\w.-]+)+")
_NAMING = (ast.ImportFrom, ast.Import, ast.Call, ast.Tuple, ast.List, ast.Constant, ast.JoinedStr)
_LOADERS = ("import_module", "find_spec")


class NotRewritten(Exception):
    """A module names another of ours in a way that nobody translates."""


def rewrite(source: bytes, file: str) -> bytes:
    """Return a module of ours as it stands in the wheel.

    Raises:
        NotRewritten: it names one of our modules in another way than those that are known; says where.
    """
    tree = ast.parse(source, file)
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    places = set[int]()
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, _NAMING):
            try:
                places.update(_places(node, source, starts))
            except NotRewritten as error:
                raise NotRewritten(f"{file}, line {node.lineno}: {error}") from None
        if not isinstance(node, ast.Constant | ast.Name | ast.JoinedStr):
            waiting.extend(ast.iter_child_nodes(node))
    for place in sorted(places, reverse=True):
        source = source[:place] + f"{NAME}.".encode() + source[place:]
    return source


def _places(node: ast.AST, source: bytes, starts: list[int]) -> Iterator[int]:
    """Yield where in `source` one of our names begins that this node says."""
    match node:
        case ast.ImportFrom(level=0, module=str(module)) if module.partition(".")[0] in FOLDERS:
            yield source.index(module.encode(), starts[node.lineno - 1] + node.col_offset + len("from"))
        case ast.Import(names=names):
            for name in names:
                if name.name.partition(".")[0] in FOLDERS:
                    if name.asname is None:
                        raise NotRewritten(f"`import {name.name}` would bind another name; write `from … import …`")
                    yield starts[name.lineno - 1] + name.col_offset
        case ast.Call(func=ast.Attribute(attr=called) | ast.Name(id=called), args=[ast.Constant(value=str(text)), *_]):
            if called in _LOADERS and text in FOLDERS:
                yield _quoted(node.args[0], text, source, starts)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            for before, one in itertools.pairwise(parts):
                match before, one:
                    case ast.Constant(value="-m"), ast.Constant(value=str(text)) if text in FOLDERS:
                        yield _quoted(one, text, source, starts)
        case ast.Constant(value=str(text)):
            yield from _places_in_string(node, text, source, starts)
        case ast.JoinedStr():
            inside = (part.value for part in ast.walk(node) if isinstance(part, ast.Constant))
            if any(_is_module(text.rstrip(".")) or _STARTED.search(text) for text in inside if isinstance(text, str)):
                raise NotRewritten("an f-string names a module; use `__name__`")


def _places_in_string(node: ast.Constant, text: str, source: bytes, starts: list[int]) -> Iterator[int]:
    """Yield where a string names one of our modules: as a whole, or after `-m`."""
    if _is_module(text):
        yield _quoted(node, text, source, starts)
    elif _PATH.fullmatch(text) and (ROOT / text).exists():
        raise NotRewritten(f"{text!r} is a path in the repository; find it from `__file__`")
    elif _STARTED.search(text):
        first, last = (starts[line - 1] + column for line, column in _span(node))
        yield from (first + one.end() for one in re.finditer(_STARTED.pattern.encode(), source[first:last]))


def _is_module(text: str) -> bool:
    """Whether it is the dotted name of a module of ours, or of something in it."""
    if not _DOTTED.fullmatch(text):
        return False
    path = ROOT.joinpath(*text.split(".")[:2])
    return path.is_dir() or path.with_suffix(".py").is_file()


def _span(node: ast.expr) -> tuple[tuple[int, int], tuple[int, int]]:
    return (node.lineno, node.col_offset), (node.end_lineno or node.lineno, node.end_col_offset or 0)


def _quoted(node: ast.expr, text: str, source: bytes, starts: list[int]) -> int:
    """Return where the text of a string begins.

    Raises:
        NotRewritten: it is written in parts or with escapes.
    """
    first, last = (starts[line - 1] + column for line, column in _span(node))
    place = source.find(text.encode(), first, last)
    if place < 0:
        raise NotRewritten(f"{text!r} is written in parts")
    return place


def readme(text: str, home: str, version: str) -> str:
    """Return the README as an index shows it: with whole addresses where `home`, the project's, is known.

    Elsewhere a link into the repository would lead nowhere, so its words stand alone, without pictures.
    """
    if not home:
        text = re.sub(r"<picture>.*?</picture>\n*", "", text, flags=re.S)

    def written(link: re.Match[str]) -> str:
        mark, words, target = link.groups()
        if re.match(r"[a-z+]+:|#", target):
            return link[0]
        return f"{mark}[{words}]({home}/{'raw' if mark else 'blob'}/v{version}/{target})" if home else words

    text = re.sub(r'(src|srcset)="(?!https?:)([^"]+)"', rf'\1="{home}/raw/v{version}/\2"', text)
    return re.sub(r"(!?)\[([^\[\]]*)\]\(([^()\s]+)\)", written, text)


class Renamed(build_py):
    """Writes our modules into the wheel under the long names."""

    force = True

    def build_module(self, module: str, module_file: str, package: str) -> tuple[str, bool]:
        """Copy one module; return where, and that it was."""
        target, copied = super().build_module(module, module_file, package)
        path = Path(target)
        path.write_bytes(rewrite(path.read_bytes(), module_file))
        return target, copied


class Editable(editable_wheel):
    """Leaves the repository as it is, short names included."""

    def finalize_options(self) -> None:
        """Find the packages where they lie."""
        self.distribution.packages = [*OWN, *PACKAGES]
        self.distribution.package_dir = {}
        super().finalize_options()


if __name__ == "__main__":
    home = os.environ.get("PROJECT_URL", "").rstrip("/")
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    setup(
        long_description=readme((ROOT / "README.md").read_text(encoding="utf-8"), home, version),
        long_description_content_type="text/markdown",
        project_urls={"Homepage": home, "Issues": f"{home}/issues"} if home else {},
        packages=[*OWN, *(f"{NAME}.{package}" for package in PACKAGES)],
        package_dir={f"{NAME}.{folder}": folder for folder in FOLDERS},
        package_data={NAME: ["py.typed"], **{f"{NAME}.{package}": files for package, files in DATA.items()}},
        cmdclass={"build_py": Renamed, "editable_wheel": Editable},
    )
