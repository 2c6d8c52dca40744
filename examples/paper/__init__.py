"""The experiments of the paper, each one module with ``run(settings)``, and the protocol that they share.

``python -m examples.paper --help`` in the root of the repository lists them.
"""
