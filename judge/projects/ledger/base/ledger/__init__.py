"""Bank statements, read and summed."""

from .money import format_amount, parse_amount
from .report import summary

__all__ = ["format_amount", "parse_amount", "summary"]
