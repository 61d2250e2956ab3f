#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| headrace_fuzz::graph_index(bytes));
