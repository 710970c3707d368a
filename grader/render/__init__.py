"""Renderers: pure functions of a Report, one module for each format."""
