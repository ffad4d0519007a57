"""Third branches for models of other libraries; the package is a function as well, ``tritree.graft(model, X)``."""

from __future__ import annotations

import sys
from types import ModuleType

from tritree.graft.models import graft

__all__ = ["graft"]


class _Function(ModuleType):
    """A package that is called: ``tritree.graft`` is the package as soon as a module of it is imported."""

    __call__ = staticmethod(graft)


sys.modules[__name__].__class__ = _Function
