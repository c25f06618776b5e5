from .nn import Linear, silu, swiglu

__all__ = ["Linear", "silu", "swiglu"]
