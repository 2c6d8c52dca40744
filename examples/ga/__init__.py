"""Worked examples of geometric algebra. A module each: ``main(folder)`` saves NAME.png and returns its figures by name.

A figure whose name begins with "error of" is the difference from what is known otherwise; the tests hold it to 1e-9.
"""
