"""The HTTP interface: API, webhook, health; a factory creates each router."""
