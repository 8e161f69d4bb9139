"""Pictures that a reader can touch: curves described in plain numbers, drawn by plotly in the browser."""

from genlaws.core.panel import COLORS, KINDS, Curve, Panel

__all__ = ["COLORS", "KINDS", "Curve", "Panel"]
