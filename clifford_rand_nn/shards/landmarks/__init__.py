"""The tuning-free network for rows in shards: functions in the span of landmarks, by sums over the rows."""
