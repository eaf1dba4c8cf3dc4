"""The guidance broker: one address in front of every source of guidance.

``service`` tells the story and ``app`` composes it; the rest of this floor is what every room may use.

    wire       what listens: gRPC and HTTP adapters
    sessions   a process's session, its lanes and its outbox
    asks       one ask: admission, identity, answers and how they end
    leases     asks that are answered for so many steps
    routing    whom to ask, in which order
    cache      answers that are kept, and their keys
    calling    a plan followed, and the layers around a source
    providers  the sources themselves
    ledger     money
    config     the file
    setup      from the file to what is offered
    running    reload, drain, log, watch the loop
    timers     waiting until a moment
    metrics    what Prometheus reads
    cli        the commands

docs/life_of_a_query.md walks through them.
"""
