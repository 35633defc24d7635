"""A table of contents for Markdown."""

from .toc import render

__all__ = ["render"]
