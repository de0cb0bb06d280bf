//! What to measure, and in which order.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;

use netdyno_lab_manifest::Params;
use netdyno_lab_store::PlannedCell;

/// Who plays with whom.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Casting {
    /// Each contender plays all roles but those of standard partners, and those that it has a stand-in for.
    #[default]
    Alone,
    /// Each contender of each role with each of the others, partners or not.
    Matrix,
    /// Each contender in each role, with this one in the others: on which side is the cost?
    Against(String),
    /// Each contender twice: how far is it from itself? The second one may be made to lose some of its time.
    Itself {
        /// In thousandths.
        stalled: u32,
    },
}

/// The roles of a workload, and who can play them.
pub struct Stage<'a> {
    /// The roles.
    pub roles: &'a [String],
    /// Who plays a role for all, of those that are not compared.
    pub partners: &'a IndexMap<String, String>,
    /// Who plays a role of those that do not play it.
    pub stand_ins: &'a IndexMap<String, String>,
    /// Whether a contender plays a role.
    pub plays: &'a dyn Fn(&str, &str) -> bool,
    /// Whether a contender plays with itself alone.
    pub is_alone: &'a dyn Fn(&str) -> bool,
}

impl Stage<'_> {
    /// One contender in all roles but those of partners, and of stand-ins where it lacks the role.
    fn alone(&self, name: &str) -> Cast {
        let stand_in = |role: &String| self.stand_ins.get(role).filter(|_| !(self.plays)(name, role));
        let of = |role: &String| {
            let other = self.partners.get(role).or_else(|| stand_in(role));
            other.map_or(name, String::as_str).to_owned()
        };
        self.roles.iter().map(|role| (role.clone(), of(role))).collect()
    }

    /// Who is to play a role in a matrix: all of these who can; where none can, its partner or stand-in. Where there is neither of any
    /// role, everybody plays all roles, or says why not.
    fn candidates(&self, role: &str, contenders: &[String]) -> Vec<String> {
        if self.partners.is_empty() && self.stand_ins.is_empty() {
            return contenders.to_vec();
        }
        let able: Vec<String> = contenders.iter().filter(|name| (self.plays)(name, role)).cloned().collect();
        let other = || self.partners.get(role).or_else(|| self.stand_ins.get(role)).cloned();
        if able.is_empty() { other().into_iter().collect() } else { able }
    }

    /// One contender for all, in each role in turn, with another one in the others. Where it has a stand-in, it has no turn.
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

    /// Whether each of a cast understands the others.
    fn is_understood(&self, cast: &Cast) -> bool {
        let first = cast.values().next();
        cast.values().all(|name| Some(name) == first) || !cast.values().any(|name| (self.is_alone)(name))
    }

    /// The roles of a cast that their standard partner plays.
    fn partners_in(&self, cast: &Cast) -> BTreeSet<String> {
        let standard = |(role, name): &(&String, &String)| self.partners.get(*role) == Some(*name);
        cast.iter().filter(standard).map(|(role, _)| role.clone()).collect()
    }
}

/// Who plays which role.
type Cast = BTreeMap<String, String>;

/// All cells: every set of parameters with every cast.
///
/// The ceiling, where there is one, plays all roles itself but those of partners: it need not speak a rival's wire format.
#[must_use]
pub fn cells(
    stage: &Stage<'_>,
    contenders: &[String],
    ceiling: Option<&str>,
    casting: &Casting,
    params: &[Params],
) -> Vec<PlannedCell> {
    let alone = |name: &str| stage.alone(name);
    let mut casts: Vec<(Cast, bool)> = Vec::new();
    match casting {
        Casting::Alone | Casting::Itself { .. } => {
            casts.extend(contenders.iter().map(|c| (alone(c), false)));
        }
        Casting::Matrix => casts.extend(stage.combinations(contenders).into_iter().map(|c| (c, false))),
        Casting::Against(fixed) => {
            casts.extend(stage.against(fixed, contenders).into_iter().map(|c| (c, false)));
        }
    }
    casts.retain(|(cast, _)| stage.is_understood(cast));
    casts.extend(ceiling.map(|c| (alone(c), true)));
    let cell = |params: &Params, (cast, ceiling): &(Cast, bool), (again, stalled)| PlannedCell {
        contenders: cast.clone(),
        partners: stage.partners_in(cast),
        params: params.clone(),
        ceiling: *ceiling,
        again,
        stalled,
    };
    let times = match *casting {
        Casting::Itself { stalled } => &[(false, 0), (true, stalled)][..],
        _ => &[(false, 0)],
    };
    let of = |p| casts.iter().flat_map(move |cast| times.iter().map(move |&time| cell(p, cast, time)));
    params.iter().flat_map(of).collect()
}

/// Every combination of the swept values over the other parameters, in the order of the command line.
#[must_use]
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

/// The order of the cells in a block: a shuffle that only the seed and the block's number decide, so that a resumed
/// run goes on in the order it would have had.
#[must_use]
pub fn order(seed: u64, block: u32, cells: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..cells).collect();
    order.shuffle(&mut Pcg64Mcg::seed_from_u64(mix(seed, u64::from(block))));
    order
}

/// One turn of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// Whose it is.
    pub side: usize,
    /// Which of that side's turns; none for the stretch in which it is left alone.
    pub index: Option<u32>,
}

/// The turns of a session: each side has its first, then each its second, in orders that only the seed decides. The stretches of
/// those who are to be `undisturbed` for one stand one by one between these rounds, spread over the session: one after the other
/// they would keep everybody waiting for longer than a retransmission timer.
#[must_use]
pub fn turns(seed: u64, sides: usize, count: u32, undisturbed: &[usize]) -> Vec<Turn> {
    let mut random = Pcg64Mcg::seed_from_u64(mix(seed, 1 << 33));
    let mut shuffled = |mut sides: Vec<usize>| {
        sides.shuffle(&mut random);
        sides
    };
    let stretches = shuffled(undisturbed.to_vec());
    let mut turns = Vec::with_capacity(sides * count as usize + stretches.len());
    for index in 0..count {
        turns
            .extend(shuffled((0..sides).collect()).into_iter().map(|side| Turn { side, index: Some(index) }));
        let after =
            |place: usize| ((place + 1) * count as usize).div_ceil(stretches.len() + 1) == index as usize + 1;
        let now = stretches.iter().enumerate().filter(|(place, _)| after(*place));
        turns.extend(now.map(|(_, &side)| Turn { side, index: None }));
    }
    turns
}

/// Seed of a block's payloads and of what a link loses, below 2^53: the same for every contender of the block.
#[must_use]
pub fn payload_seed(seed: u64, block: u32) -> u64 {
    mix(seed, u64::from(block) | 1 << 32) >> 11
}

/// Seed of the order of the turns of one session of a round, by its place in it.
#[must_use]
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
