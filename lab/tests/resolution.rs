//! The harness resolves a microsecond: delays of 1, 2 and 5 us put into the echo are found again, each with its size in
//! the interval. Alone in its program, since whatever runs beside it would be measured too.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use netdyno_lab::arena::{ArenaSpec, LocalLauncher, Net};
use netdyno_lab::build::{Availability, Builder};
use netdyno_lab::doctor::resolution;
use netdyno_lab::manifest::Catalog;

#[test]
fn injected_delays_are_found_with_their_size() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let catalog = Catalog::load(&root).unwrap();
    let cancel = Arc::new(AtomicBool::new(false));
    let cache = Builder::default_cache().unwrap();
    let builder = Builder::new(&cache, &root, Arc::clone(&cancel)).unwrap();
    let ceiling = catalog.contender("rtt", "ceiling").unwrap();
    if let Availability::Unavailable { reason, remedy } = builder.availability(ceiling) {
        assert!(std::env::var("NETDYNO_REQUIRE").as_deref() != Ok("all"), "needs: {reason}; {remedy}");
        println!("skipped: needs: {reason}; {remedy}");
        return;
    }
    if std::thread::available_parallelism().unwrap().get() < 2 {
        assert!(std::env::var("NETDYNO_REQUIRE").as_deref() != Ok("all"), "needs a core for each role");
        println!("skipped: needs a core for each role");
        return;
    }
    let launcher = Arc::new(LocalLauncher::with_executable(env!("CARGO_BIN_EXE_netdyno")));
    let arena = ArenaSpec { launcher, ..ArenaSpec::local(Net::Loopback) };
    // A noisy machine needs more blocks; a quiet one stops as soon as it is sure.
    let blocks_max = 2 * resolution::BLOCKS_MAX;
    let found = resolution::measure(&catalog, &builder, &arena, blocks_max, &cancel).unwrap();
    let values: Vec<f64> = found.iter().map(|i| i.value).collect();
    assert_eq!(values, [1000.0, 2000.0, 5000.0]);
    for injected in &found {
        println!("{injected:?}");
        assert!(injected.is_found(), "{injected:?}");
    }
}
