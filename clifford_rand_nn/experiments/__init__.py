"""The experiments of the paper, each one module with ``run(settings)``, and the protocol that they share."""
