from .document import Document, ParseError
from .expand import ExpandError, expand
from .mask import masked

__all__ = ["Document", "ExpandError", "ParseError", "expand", "masked"]
