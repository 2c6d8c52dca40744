"""The network without knobs for rows in shards: functions in the span of landmarks, by sums over the rows."""
