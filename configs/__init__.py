"""Configurations: one folder per system, and methods as overlays; found by name from an installed package."""
