"""Rules of five fields, and the times that they mean."""

from .rule import Rule, RuleError, parse
from .table import Entry, TableError, agenda, describe, read_table
from .when import Never, between, first_after, upcoming

__all__ = ["Entry", "Never", "Rule", "RuleError", "TableError", "agenda", "between", "describe", "first_after", "parse", "read_table", "upcoming"]
