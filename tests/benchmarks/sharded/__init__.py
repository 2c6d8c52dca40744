"""Parts of `bench_shards`: rows made by block, fits that are measured in a process each, and peers."""
