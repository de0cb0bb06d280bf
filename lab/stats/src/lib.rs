//! From the blocks of a run to a verdict; pure functions, no clock, no I/O.
//!
//! | does | does not |
//! |---|---|
//! | compare contenders as log ratios within a block | take time, draw blocks or read the store |
//! | intervals and p-values that hold at any stopping time | assume a number of blocks fixed in advance |
//! | correct for several contenders in one run | correct over several metrics, workloads or runs |
//! | merge latency histograms | average percentiles |
//! | find where a history of runs changed | compare the figures of different runs otherwise |
//!
//! The model: the log ratios of one contender are independent over the blocks and Gaussian, with unknown mean
//! (what is asked for) and unknown variance. `synthetic.rs` tests the stated rates under the model; A against
//! A, it also tests them with uniform noise and with noise that has a long tail, which the difference of two
//! contenders makes symmetric. Outside the model the rate is not kept. In those tests, at a stated 5 % and 30
//! looks: 3.2 % for Gaussian log ratios, 6 % for uniform ones, 13 % for exponential ones (one side disturbed,
//! the other calm), 8 % with a correlation of 0.3 between neighbouring blocks. A verdict at three blocks on
//! a small difference leans on the model most; more `min_blocks` or a smaller alpha is the remedy.
//!
//! ```
//! use netdyno_stats::{Comparison, Direction, Rules, Unit, Verdict, judge};
//!
//! let log_ratios = [2.02f64, 1.97, 2.05, 1.99].iter().map(|ratio| ratio.ln()).collect();
//! let rival = Comparison { contender: "rival".to_owned(), unit: Unit::Block, log_ratios };
//! let judged = judge(&[rival], Direction::Higher, &Rules::default());
//! assert_eq!(judged[0].verdict, Verdict::Better);
//! ```

pub mod changes;
pub mod encoded;
pub mod histogram;
pub mod holm;
pub mod quantile;
pub mod regression;
pub mod sequence;
#[cfg(test)]
mod synthetic;
#[cfg(test)]
mod synthetic_changes;
#[cfg(test)]
mod synthetic_duels;
pub mod verdict;

pub use changes::{Change, changes};
pub use encoded::Encoded;
pub use holm::{adjust, p_value};
pub use quantile::quantile;
pub use regression::{Claim, Loss};
pub use sequence::{Interval, Unit, confidence_sequence};
pub use verdict::{Comparison, Direction, Judgement, Rules, Verdict, decided, judge, needed};
