//! Every limit on a file of claims.

/// Files of a folder.
pub const ARTICLES_MAX: usize = 256;
/// Methods of an article: each is a run.
pub const METHODS_MAX: usize = 32;
/// Claims of an article.
pub const CLAIMS_MAX: usize = 256;
/// Experiments of a claim.
pub const EXPERIMENTS_MAX: usize = 16;
/// No comparison claims more than a millionfold, nor less than a millionth.
pub const RATIO_MAX: f64 = 1e6;
/// What variables that a method may set begin with: how Cargo optimises. Others could start programs.
pub const ENVIRONMENT: &str = "CARGO_PROFILE_";
