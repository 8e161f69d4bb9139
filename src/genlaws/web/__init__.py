"""A local web page with one view per system: sliders for the theory, compared with bundled runs."""
