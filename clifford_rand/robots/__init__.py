"""Robots: trees of rigid bodies whose joints are screws, their kinematics and dynamics by motors of PGA(3)."""
