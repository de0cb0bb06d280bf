//! Error rates on synthetic data. Each test prints its seed and the measured rate.

pub(crate) mod blocks;
mod changes;
mod duels;
mod histogram;
