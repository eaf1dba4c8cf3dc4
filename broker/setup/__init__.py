"""From a configuration to what is offered: task folders, sources in their layers, the catalogue."""
