use super::*;
use netdyno_lab_manifest::ParamValue;

fn names(n: &[&str]) -> Vec<String> {
    n.iter().map(|s| (*s).to_owned()).collect()
}

/// The cells of a workload without partners, whose contenders play all roles.
fn cells(roles: &[&str], contenders: &[&str], ceiling: Option<&str>, casting: &Casting) -> Vec<CellRecord> {
    let (roles, none) = (names(roles), IndexMap::new());
    let stage =
        Stage { roles: &roles, partners: &none, stand_ins: &none, plays: &|_, _| true, is_alone: &|_| false };
    super::cells(&stage, &names(contenders), ceiling, casting, &[Params::default()])
}

/// `load > server` of each cell, without the `load` of partners.
fn with_a_partner(contenders: &[&str], casting: &Casting) -> Vec<String> {
    let (roles, none) = (names(&["load", "server"]), IndexMap::new());
    let partners = IndexMap::from([("load".into(), "standard".into())]);
    let plays = |name: &str, role: &str| match name {
        "standard" | "other" => role == "load",
        "both" => true,
        _ => role == "server",
    };
    let stage =
        Stage { roles: &roles, partners: &partners, stand_ins: &none, plays: &plays, is_alone: &|_| false };
    let cells = super::cells(&stage, &names(contenders), Some("top"), casting, &[Params::default()]);
    let names = |c: &CellRecord| {
        let load = if c.partners.contains("load") { "" } else { &c.contenders["load"] };
        format!("{load}>{}{}", c.contenders["server"], if c.ceiling { "!" } else { "" })
    };
    cells.iter().map(names).collect()
}

#[test]
fn a_partner_plays_its_role_for_all() {
    assert_eq!(with_a_partner(&["x", "y"], &Casting::Alone), [">x", ">y", ">top!"]);
    assert_eq!(with_a_partner(&["x"], &Casting::Itself { stalled: 0 }), [">x", ">x", ">top!", ">top!"]);
}

#[test]
fn a_matrix_varies_the_partner_if_another_is_named() {
    assert_eq!(with_a_partner(&["x", "y"], &Casting::Matrix), [">x", ">y", ">top!"]);
    assert_eq!(
        with_a_partner(&["x", "both", "other"], &Casting::Matrix),
        ["both>x", "both>both", "other>x", "other>both", ">top!"]
    );
    assert_eq!(with_a_partner(&["standard", "other", "x"], &Casting::Matrix), [">x", "other>x", ">top!"]);
}

/// `controller>device` of each cell. `one` only plays the controller, `two` only the device; `full` is the stand-in.
fn with_stand_ins(contenders: &[&str], casting: &Casting) -> Vec<String> {
    let (roles, none) = (names(&["controller", "device"]), IndexMap::new());
    let stand_ins = roles.iter().map(|role| (role.clone(), "full".to_owned())).collect();
    let plays = |name: &str, role: &str| !matches!((name, role), ("one", "device") | ("two", "controller"));
    let stage = Stage {
        roles: &roles,
        partners: &none,
        stand_ins: &stand_ins,
        plays: &plays,
        is_alone: &|name| name == "odd",
    };
    let cells = super::cells(&stage, &names(contenders), Some("top"), casting, &[Params::default()]);
    assert!(cells.iter().all(|c| c.partners.is_empty()), "a stand-in's role is compared, and named");
    let names = |c: &CellRecord| format!("{}>{}", c.contenders["controller"], c.contenders["device"]);
    cells.iter().map(names).collect()
}

#[test]
fn a_stand_in_plays_missing_roles() {
    assert_eq!(
        with_stand_ins(&["one", "two", "both"], &Casting::Alone),
        ["one>full", "full>two", "both>both", "top>top"]
    );
    assert_eq!(with_stand_ins(&["one", "two"], &Casting::Matrix), ["one>two", "top>top"]);
    assert_eq!(with_stand_ins(&["one"], &Casting::Matrix), ["one>full", "top>top"]);
    let against = |name: &str| Casting::Against(name.to_owned());
    assert_eq!(
        with_stand_ins(&["full", "one", "both"], &against("full")),
        ["full>full", "one>full", "both>both", "both>full", "full>both", "top>top"]
    );
    assert_eq!(
        with_stand_ins(&["one", "both"], &against("one")),
        ["one>full", "both>both", "both>full", "one>both", "top>top"]
    );
}

#[test]
fn a_contender_that_plays_alone_meets_no_other() {
    for (casting, cells) in [
        (Casting::Alone, &["odd>odd", "both>both", "top>top"][..]),
        (Casting::Matrix, &["odd>odd", "both>both", "top>top"]),
        (Casting::Against("both".to_owned()), &["both>both", "odd>odd", "top>top"]),
    ] {
        assert_eq!(with_stand_ins(&["odd", "both"], &casting), cells, "{casting:?}");
    }
}

#[test]
fn a_run_has_every_contender_and_the_ceiling() {
    let cells = cells(&["a", "b"], &["x", "y"], Some("top"), &Casting::Alone);
    assert_eq!(cells.len(), 3);
    assert!(cells[2].ceiling && cells[2].contenders["b"] == "top");
    assert_eq!(cells[0].contenders["a"], "x");
}

#[test]
fn a_matrix_has_every_combination() {
    let cells = cells(&["a", "b"], &["x", "y", "z"], None, &Casting::Matrix);
    let mut casts: Vec<_> = cells.iter().map(|c| c.contenders.clone()).collect();
    casts.sort();
    casts.dedup();
    assert_eq!(casts.len(), 9);
}

#[test]
fn against_one_contender_each_side_varies() {
    let against = Casting::Against("x".to_owned());
    let cells = cells(&["a", "b"], &["x", "y", "z"], None, &against);
    let casts: Vec<String> =
        cells.iter().map(|c| format!("{} {}", c.contenders["a"], c.contenders["b"])).collect();
    assert_eq!(casts, ["x x", "y y", "y x", "x y", "z z", "z x", "x z"]);
}

#[test]
fn a_contender_against_itself_has_two_cells_and_only_the_second_is_stalled() {
    for stalled in [0, 50] {
        let cells = cells(&["a"], &["x"], None, &Casting::Itself { stalled });
        let times: Vec<_> = cells.iter().map(|c| (c.again, c.stalled)).collect();
        assert_eq!(times, [(false, 0), (true, stalled)]);
        assert_eq!(cells[0].contenders, cells[1].contenders);
    }
}

#[test]
fn a_sweep_is_a_product() {
    let axis = |n: &str, v: &[i64]| (n.to_owned(), v.iter().map(|i| ParamValue::Integer(*i)).collect());
    let all = sweep(&Params::default(), &[axis("p", &[1, 2]), axis("q", &[3, 4, 5])]);
    assert_eq!(all.len(), 6);
    assert_eq!(all[5].to_string(), "p=2 q=5");
    assert_eq!(sweep(&Params::default(), &[]).len(), 1);
}

#[test]
fn the_order_is_a_fair_repeatable_shuffle() {
    let mut first = [0u32; 5];
    for block in 0..5000 {
        let order = order(7, block, 5);
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, [0, 1, 2, 3, 4]);
        assert_eq!(order, super::order(7, block, 5));
        first[order[0]] += 1;
    }
    // 1000 expected, with a standard deviation of 28: six of them.
    assert!(first.iter().all(|n| n.abs_diff(1000) < 170), "{first:?}");
}

#[test]
fn every_side_has_its_turn_in_any_order() {
    for sides in [2, 4] {
        let everybody: Vec<usize> = (0..sides).collect();
        let all = turns(3, sides, 1001, &everybody);
        assert_eq!(all, turns(3, sides, 1001, &everybody));
        assert_ne!(all, turns(4, sides, 1001, &everybody));
        let (rounds, stretches): (Vec<PlannedTurn>, Vec<PlannedTurn>) =
            all.iter().partition(|t| t.index.is_some());
        let sorted = |turns: &[PlannedTurn]| {
            let mut sides: Vec<usize> = turns.iter().map(|turn| turn.side).collect();
            sides.sort_unstable();
            sides
        };
        assert_eq!(rounds.len(), 1001 * sides);
        for (index, round) in (0..).zip(rounds.chunks(sides)) {
            assert_eq!(sorted(round), everybody);
            assert!(round.iter().all(|turn| turn.index == Some(index)));
        }
        // 1001 / sides expected, with a standard deviation of at most 16: six of them.
        let first = rounds.chunks(sides).filter(|round| round[0].side == 0).count();
        assert!(first.abs_diff(1001 / sides) < 96, "{first}");
        assert_eq!(sorted(&stretches), everybody);
        assert!(turns(3, sides, 4, &[]).iter().all(|turn| turn.index.is_some()));
    }
}

#[test]
fn stretches_are_spread() {
    // (sides, turns of each, undisturbed sides) -> turns before each stretch
    let rows: [(usize, u32, &[usize], &[usize]); 6] = [
        (2, 2, &[0, 1], &[2, 4]),
        (3, 4, &[0, 1, 2], &[3, 6, 9]),
        (3, 5, &[0, 1, 2], &[6, 9, 12]),
        (2, 8, &[0, 1], &[6, 12]),
        (4, 4, &[0, 1, 3], &[4, 8, 12]),
        (3, 4, &[1], &[6]),
    ];
    for (sides, count, undisturbed, before) in rows {
        let all = turns(1, sides, count, undisturbed);
        let stretches = all.iter().enumerate().filter(|(_, turn)| turn.index.is_none());
        let places: Vec<usize> = stretches.enumerate().map(|(earlier, (at, _))| at - earlier).collect();
        assert_eq!(places, before, "{sides} {count}");
    }
}

#[test]
fn payload_seeds_fit_in_53_bits_and_differ() {
    let seeds: Vec<u64> = (0..100).map(|b| payload_seed(1, b)).collect();
    assert!(seeds.iter().all(|s| *s < 1 << 53));
    let mut unique = seeds.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(unique.len(), 100);
}
