//! `Cargo.toml` only names a crate whose sources are compiled by `benchmarks/tools.py`.
