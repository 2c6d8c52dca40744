"""Blades of any dimension, kept as their vectors."""
