"""Interactive panels: curves described by plain numbers and drawn by plotly in the browser."""

from genlaws.core.panel import COLORS, KINDS, Curve, Panel

__all__ = ["COLORS", "KINDS", "Curve", "Panel"]
