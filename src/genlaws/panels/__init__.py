"""Pictures that a reader can touch: curves described in plain numbers, drawn by plotly in the browser."""

from genlaws.panels.panel import COLOURS, KINDS, Curve, Panel

__all__ = ["COLOURS", "KINDS", "Curve", "Panel"]
