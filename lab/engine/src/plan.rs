//! The cells of a run, and their order.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;

use netdyno_lab_manifest::Params;
use netdyno_lab_store::CellRecord;

/// The assignment of contenders to roles.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Casting {
    /// Each contender plays all roles except those of partners, and of stand-ins for roles it lacks.
    #[default]
    Alone,
    /// Every combination of contenders and roles, including those of partners.
    Matrix,
    /// Each contender in each role, with this one in the others, to find which side limits.
    Against(String),
    /// Each contender twice, to measure its difference from itself. The second one is slowed down by `stalled`
    /// thousandths.
    #[expect(missing_docs, reason = "the variant describes its field")]
    Itself { stalled: u32 },
}

/// The roles of a workload and their possible players.
pub struct Stage<'a> {
    /// The roles.
    pub roles: &'a [String],
    /// Contenders that play a role for all others.
    pub partners: &'a IndexMap<String, String>,
    /// Contenders that play a role for those that lack it.
    pub stand_ins: &'a IndexMap<String, String>,
    /// Whether a contender plays a role.
    pub plays: &'a dyn Fn(&str, &str) -> bool,
    /// Whether a contender interoperates only with itself.
    pub is_alone: &'a dyn Fn(&str) -> bool,
}

impl Stage<'_> {
    /// A contender in all roles, except those of partners and, for roles it lacks, of stand-ins.
    fn alone(&self, name: &str) -> Cast {
        let stand_in = |role: &String| self.stand_ins.get(role).filter(|_| !(self.plays)(name, role));
        let of = |role: &String| {
            let other = self.partners.get(role).or_else(|| stand_in(role));
            other.map_or(name, String::as_str).to_owned()
        };
        self.roles.iter().map(|role| (role.clone(), of(role))).collect()
    }

    /// The players of a role in a matrix: all contenders that play it, else its partner or stand-in. In a workload
    /// without partners and stand-ins, every contender is tried in every role.
    fn candidates(&self, role: &str, contenders: &[String]) -> Vec<String> {
        if self.partners.is_empty() && self.stand_ins.is_empty() {
            return contenders.to_vec();
        }
        let able: Vec<String> = contenders.iter().filter(|name| (self.plays)(name, role)).cloned().collect();
        let other = || self.partners.get(role).or_else(|| self.stand_ins.get(role)).cloned();
        if able.is_empty() { other().into_iter().collect() } else { able }
    }

    /// One contender in each role in turn, with another contender in the others. Roles of stand-ins are skipped.
    fn against(&self, fixed: &str, contenders: &[String]) -> Vec<Cast> {
        let mut casts = vec![self.alone(fixed)];
        for one in contenders.iter().filter(|c| *c != fixed) {
            casts.push(self.alone(one));
            for role in self.roles.iter().filter(|_| self.roles.len() > 1) {
                let mut cast = self.alone(fixed);
                cast.insert(role.clone(), one.clone());
                let stand_in = self.stand_ins.contains_key(role) && !(self.plays)(one, role);
                if !stand_in && !casts.contains(&cast) {
                    casts.push(cast);
                }
            }
        }
        casts
    }

    fn combinations(&self, contenders: &[String]) -> Vec<Cast> {
        self.roles.iter().fold(vec![Cast::new()], |casts, role| {
            let with = |cast: &Cast, name: String| {
                let mut cast = cast.clone();
                cast.insert(role.clone(), name);
                cast
            };
            let candidates = self.candidates(role, contenders);
            casts
                .iter()
                .flat_map(|cast| candidates.iter().map(move |name| with(cast, name.clone())))
                .collect()
        })
    }

    fn is_understood(&self, cast: &Cast) -> bool {
        let first = cast.values().next();
        cast.values().all(|name| Some(name) == first) || !cast.values().any(|name| (self.is_alone)(name))
    }

    /// The roles of a cast that are played by their partner.
    fn partners_in(&self, cast: &Cast) -> BTreeSet<String> {
        let standard = |(role, name): &(&String, &String)| self.partners.get(*role) == Some(*name);
        cast.iter().filter(standard).map(|(role, _)| role.clone()).collect()
    }
}

type Cast = BTreeMap<String, String>;

/// All cells: every set of parameters with every cast. The ceiling, if any, plays all roles except those of partners,
/// since it need not interoperate with other contenders.
pub fn cells(
    stage: &Stage<'_>,
    contenders: &[String],
    ceiling: Option<&str>,
    casting: &Casting,
    params: &[Params],
) -> Vec<CellRecord> {
    let mut casts: Vec<Cast> = match casting {
        Casting::Alone | Casting::Itself { .. } => contenders.iter().map(|c| stage.alone(c)).collect(),
        Casting::Matrix => stage.combinations(contenders),
        Casting::Against(fixed) => stage.against(fixed, contenders),
    };
    casts.retain(|cast| stage.is_understood(cast));
    let ceiling = ceiling.map(|c| (stage.alone(c), true));
    let casts: Vec<_> = casts.into_iter().map(|cast| (cast, false)).chain(ceiling).collect();
    let cell = |params: &Params, (cast, ceiling): &(Cast, bool), (again, stalled)| CellRecord {
        contenders: cast.clone(),
        partners: stage.partners_in(cast),
        params: params.clone(),
        ceiling: *ceiling,
        again,
        stalled,
        ..CellRecord::default()
    };
    let times = match *casting {
        Casting::Itself { stalled } => &[(false, 0), (true, stalled)][..],
        _ => &[(false, 0)],
    };
    let of = |p| casts.iter().flat_map(move |cast| times.iter().map(move |&time| cell(p, cast, time)));
    params.iter().flat_map(of).collect()
}

/// All combinations of the swept values, in the order of the command line.
pub fn sweep(base: &Params, axes: &[(String, Vec<netdyno_lab_manifest::ParamValue>)]) -> Vec<Params> {
    axes.iter().fold(vec![base.clone()], |all, (name, values)| {
        all.iter()
            .flat_map(|params| {
                values.iter().map(move |value| {
                    let mut params = params.clone();
                    params.0.insert(name.clone(), value.clone());
                    params
                })
            })
            .collect()
    })
}

/// The order of the cells in a block. It depends only on the seed and the block number, so that a resumed run keeps
/// its order.
pub fn order(seed: u64, block: u32, cells: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..cells).collect();
    order.shuffle(&mut Pcg64Mcg::seed_from_u64(mix(seed, u64::from(block))));
    order
}

/// A turn of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlannedTurn {
    /// The index of the side.
    pub side: usize,
    /// The number of the side's turn; none for a stretch.
    pub index: Option<u32>,
}

/// The turns of a session: one round after the other, each with one turn of every side in an order that depends on
/// the seed. The stretches of the `undisturbed` sides are spread between the rounds: consecutive stretches would
/// freeze the other sides for longer than a retransmission timer.
pub fn turns(seed: u64, sides: usize, count: u32, undisturbed: &[usize]) -> Vec<PlannedTurn> {
    let mut random = Pcg64Mcg::seed_from_u64(mix(seed, 1 << 33));
    let mut shuffled = |mut sides: Vec<usize>| {
        sides.shuffle(&mut random);
        sides
    };
    let stretches = shuffled(undisturbed.to_vec());
    let mut turns = Vec::with_capacity(sides * count as usize + stretches.len());
    for index in 0..count {
        turns.extend(
            shuffled((0..sides).collect()).into_iter().map(|side| PlannedTurn { side, index: Some(index) }),
        );
        let after =
            |place: usize| ((place + 1) * count as usize).div_ceil(stretches.len() + 1) == index as usize + 1;
        let now = stretches.iter().enumerate().filter(|(place, _)| after(*place));
        turns.extend(now.map(|(_, &side)| PlannedTurn { side, index: None }));
    }
    turns
}

/// Seed of a block's payloads and link losses, below 2^53: the same for all contenders of the block.
pub fn payload_seed(seed: u64, block: u32) -> u64 {
    mix(seed, u64::from(block) | 1 << 32) >> 11
}

/// Seed of the order of turns of a session, by its position in the round.
pub fn session_seed(seed: u64, round: u32, place: u32) -> u64 {
    mix(mix(seed, u64::from(round) | 1 << 34), u64::from(place))
}

/// SplitMix64's finaliser (Steele, Lea, Flood 2014) over two words.
fn mix(a: u64, b: u64) -> u64 {
    let mut z = a ^ b.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests;
