//! Statistics from the blocks of a run to a verdict. Pure functions without clock or I/O.
//!
//! | does | does not |
//! |---|---|
//! | compare contenders as log ratios within a block | take time, draw blocks or read the store |
//! | compute intervals and p-values that are valid at any stopping time | assume a fixed number of blocks |
//! | correct for several contenders of a run | correct for several metrics, workloads or runs |
//! | merge latency histograms | average percentiles |
//! | find changes in a history of runs | compare absolute values of different runs |
//!
//! The model: the log ratios of one contender are independent over the blocks and Gaussian, with unknown mean (the
//! parameter of interest) and unknown variance. The module `tests` checks the error rates under the model. For two
//! equal contenders, it also checks them with uniform noise and with long-tailed noise, which the difference of two
//! contenders makes symmetric. Outside the model the error level does not hold. In those tests, at a nominal 5 % and
//! 30 evaluations, the rate is 3.2 % for Gaussian log ratios, 6 % for uniform ones, 13 % for exponential ones (only one
//! side is disturbed), and 8 % with a correlation of 0.3 between neighbouring blocks. Verdicts on small differences
//! after three blocks depend most on the model. More `min_blocks` or a smaller alpha reduce this dependence.
//!
//! ```
//! use netdyno_stats::{PairedRatios, Direction, Rules, Unit, VerdictKind, judge};
//!
//! let log_ratios = [2.02f64, 1.97, 2.05, 1.99].iter().map(|ratio| ratio.ln()).collect();
//! let rival = PairedRatios { unit: Unit::Block, log_ratios };
//! let judged = judge(&[rival], Direction::Higher, &Rules::default());
//! assert_eq!(judged[0].verdict, VerdictKind::Better);
//! ```

pub mod changes;
pub mod encoded;
pub mod histogram;
pub mod holm;
pub mod quantile;
pub mod regression;
pub mod sequence;
#[cfg(test)]
mod tests;
pub mod verdict;

pub use changes::{Change, changes};
pub use encoded::Encoded;
pub use holm::{adjust, p_value};
pub use quantile::quantile;
pub use regression::{Loss, RegressionClaim};
pub use sequence::{Interval, Unit, confidence_sequence};
pub use verdict::{Direction, Judgement, PairedRatios, Rules, VerdictKind, decided, judge, needed};
