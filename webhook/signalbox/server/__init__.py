"""The webhook process: Flask on Granian over TLS, health, metrics, reload and a polite end."""
