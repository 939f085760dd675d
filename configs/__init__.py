"""Configurations: a folder per system, and ``methods/`` with one overlay per method."""
