"""Third branches for models of other libraries."""

from __future__ import annotations

import sys
from types import ModuleType

from tritree.graft.models import graft

__all__ = ["graft"]


class _Callable(ModuleType):
    """The package, which is a function as well: ``tritree.graft`` is one whatever was imported before."""

    __call__ = staticmethod(graft)


sys.modules[__name__].__class__ = _Callable
