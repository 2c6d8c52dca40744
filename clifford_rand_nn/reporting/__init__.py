"""Facts of a fit as a record, a report page, and the comparison with baselines."""
