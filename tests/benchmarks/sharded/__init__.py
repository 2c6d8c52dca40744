"""Parts of `bench_shards`: rows made by block, fits, and peers."""
