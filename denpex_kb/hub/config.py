"""What a site is called, where it stands and who answers for it: read from a TOML file."""

from __future__ import annotations

import tomllib
from pathlib import Path

import msgspec

from denpex_kb.errors import CatalogError


class SiteConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The settings of one site; every one has a default."""

    name: str = "Denpex"
    tagline: str = "Why a training run hangs or dies: the cause, the fix, and how to verify it."
    base_url: str = ""  # where the site is published, e.g. https://example.org/denpex
    repository: str = ""  # where its catalog is edited, e.g. https://github.com/example/denpex
    branch: str = "main"
    catalog_path: str = "catalog"  # of the entries' folder inside the repository
    logo: str = ""  # an SVG or PNG file, relative to the config
    language: str = "en"
    licence: str = "Apache-2.0"
    licence_url: str = "https://www.apache.org/licenses/LICENSE-2.0"
    notice: str = ""  # a line above every page, e.g. `internal`
    command: str = "denpex"  # how readers call the command line

    @property
    def base(self) -> str:
        """The published address without a slash at its end; empty where it is not known."""
        return self.base_url.rstrip("/")


def load_config(path: Path | None) -> SiteConfig:
    """Read the settings; without a file, the defaults.

    Raises:
        CatalogError: the file cannot be read, or holds an unknown or wrong setting.
    """
    if path is None:
        return SiteConfig()
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        config = msgspec.convert(data, SiteConfig)
    except OSError as error:
        raise CatalogError(f"{path}: {error.strerror}; a site's config is a TOML file") from error
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, UnicodeDecodeError) as error:
        raise CatalogError(f"{path}: {error}") from error
    for name in ("base_url", "repository", "licence_url"):
        value = getattr(config, name)
        if value and not value.startswith(("https://", "http://")):
            raise CatalogError(f"{path}: {name} must be an address that begins with https://, not {value!r}")
    if config.logo:
        logo = path.parent / config.logo
        if logo.suffix not in (".svg", ".png") or not logo.is_file():
            raise CatalogError(f"{path}: logo must name an SVG or PNG file that exists, not {config.logo!r}")
        config = msgspec.structs.replace(config, logo=str(logo.resolve()))
    return config
