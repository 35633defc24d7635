"""Finds versions of packages that fit together."""

from .catalog import Catalog, Shelf, format_plan, stamp
from .order import Cycle, order
from .ranges import Range
from .registry import Registry, Taken, Unknown, schemes
from .solver import Conflict, solve

__all__ = ["Catalog", "Conflict", "Cycle", "Range", "Registry", "Shelf", "Taken", "Unknown", "format_plan", "order", "schemes", "solve", "stamp"]
