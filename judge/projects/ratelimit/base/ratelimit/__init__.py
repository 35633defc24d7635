from .bucket import TokenBucket
from .meter import Meter
from .retry import retry, with_jitter

__all__ = ["Meter", "TokenBucket", "retry", "with_jitter"]
