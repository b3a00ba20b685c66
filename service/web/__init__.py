"""The HTTP interface: API, webhook, health; every router is made from what it is handed."""
