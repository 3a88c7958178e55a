//! Tests of the limit on reads.

use std::time::Duration;

use super::{MAX_READS, is_too_many};

#[test]
fn many_reads_at_once_are_too_many_but_not_in_a_long_time() {
    assert!(!is_too_many(MAX_READS, Duration::ZERO));
    assert!(is_too_many(MAX_READS + 1, Duration::ZERO));
    // A blank line each second, for the whole time of an answer.
    let seconds = |reads| Duration::from_secs(reads);
    assert!((1..=900).all(|reads| !is_too_many(reads, seconds(reads))));
    assert!(is_too_many(5_000, seconds(900)));
}
