"""Signalbox: admission control for AI work on Kubernetes."""

__version__ = "0.1.0"
