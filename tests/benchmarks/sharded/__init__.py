"""Parts of `bench_shards`: rows made by block, fits, their bare products, and peers."""
