//! Limits of a file of claims.

/// Files in a folder.
pub const ARTICLES_MAX: usize = 256;
/// Methods of an article. Each is a run.
pub const METHODS_MAX: usize = 32;
/// Claims of an article.
pub const CLAIMS_MAX: usize = 256;
/// Experiments of a claim.
pub const EXPERIMENTS_MAX: usize = 16;
/// Maximum claimed ratio, and reciprocal of the minimum.
pub const RATIO_MAX: f64 = 1e6;
/// Prefix of the environment variables that a method may set, which control the optimisation by Cargo. Others could start
/// programs.
pub const ENVIRONMENT: &str = "CARGO_PROFILE_";
