#[path = "support/mod.rs"]
mod support;
#[test]
fn cabin_compiles() { let p = support::cabin(); println!("{} rules", p.rules().len()); }
#[test]
fn car_bench_compiles() { let p = support::car_bench(); println!("{:?} rules", p.map(|p|p.rules().len())); }
