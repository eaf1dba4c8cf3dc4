"""One call to one source, layer by layer. Each layer takes `inner` and is itself a Provider."""
