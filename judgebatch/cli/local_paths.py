"""Commands whose paths lie on this machine: a URL there is refused, not made a folder's name."""

import re
from pathlib import Path
from typing import Any

from typer.core import TyperCommand

from judgebatch.errors import UsageError

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
"""What a path becomes that was written as a URL: one of its slashes is lost."""


class LocalCommand(TyperCommand):
    """A command that takes no URL for a path; ``--warehouse`` is a text, and may be one."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command.

        Raises
        ------
        UsageError
            A path was written as a URL. The message does not repeat it: it may hold credentials.
        """
        for parameter in self.params:
            value = ctx.params.get(str(parameter.name))
            for path in value if isinstance(value, list | tuple) else [value]:
                if isinstance(path, Path) and _URL.match(str(path)):
                    raise UsageError(
                        f"{_shown(parameter)} is a URL, and must be a path on this machine. What "
                        "may lie in an object store are the inputs and the warehouse: name their "
                        "URLs in judgebatch.toml, or the warehouse's with --warehouse."
                    )
        return super().invoke(ctx)


def _shown(parameter: Any) -> str:
    if parameter.param_type_name == "option":
        return str(parameter.opts[0])
    return str(parameter.metavar or parameter.name.upper()).removesuffix("...")
