//! From the first offer to an open channel: signalling, trickling, round trips, restarts, the end.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::time::Duration;

use common::{CERTIFICATES, Net, address, config};
use netdyno_rtc_core::{
    CandidateKind, CandidatePairState, ChannelOptions, ChannelState, DtlsRole, DtlsState, Error, Event,
    IceRole, IceState, Kind, PeerState, SendError, SignalingError,
};

#[test]
fn a_message_each_way() {
    let (mut net, [near, far]) = Net::connected(ChannelOptions::default());
    net.send(0, near, Kind::Text, "Gr\u{fc}\u{df}e".as_bytes());
    net.send(1, far, Kind::Binary, &[1, 2, 3]);
    net.run_until(|net| net.messages.iter().all(|messages| messages.len() == 1));
    assert_eq!(net.messages[1][0].kind, Kind::Text);
    assert_eq!(&net.messages[1][0].data[..], "Gr\u{fc}\u{df}e".as_bytes());
    assert_eq!((net.messages[0][0].kind, &net.messages[0][0].data[..]), (Kind::Binary, &[1, 2, 3][..]));
    for side in 0..2 {
        let states: Vec<_> =
            net.events[side].iter().filter(|event| matches!(event, Event::State(_))).collect();
        assert_eq!(states, [&Event::State(PeerState::Connecting), &Event::State(PeerState::Connected)]);
        let stats = net.peers[side].stats();
        assert_eq!((stats.data_channels_opened, stats.data_channels_closed), (1, 0));
        assert!(stats.packets_sent as usize == net.sent[side] && stats.bytes_received > 0);
        assert_eq!(stats.current_round_trip_time, Some(Duration::from_millis(20)));
    }
    assert_eq!(net.peers[0].channel_stats(near).bytes_received, 3);
    assert_eq!(net.peers[1].channel_stats(far).messages_received, 1);
    assert_eq!(net.peers[1].label(far), "test");
}

/// The fields that webrtc-stats defines for each of its objects, for an established connection.
#[test]
fn a_report_has_the_fields_of_w3c() {
    let (mut net, [near, far]) = Net::connected(ChannelOptions::default());
    let before = net.peers[0].report();
    net.send(0, near, Kind::Binary, &[7; 5000]);
    net.run(Duration::from_secs(20));
    for (side, channel) in [(0, near), (1, far)] {
        let (peer, report) = (&net.peers[side], net.peers[side].report());
        assert_eq!(report.peer_connection.data_channels_opened, 1);
        let [local] = &report.local_candidates[..] else { panic!("{report:?}") };
        let [remote] = &report.remote_candidates[..] else { panic!("{report:?}") };
        assert_eq!((local.socket_address(), remote.socket_address()), (address(side), address(1 - side)));
        assert_eq!((local.candidate_type, local.protocol), (CandidateKind::Host, "udp"));
        assert!(local.priority > 2_000_000_000 && local.foundation == "1", "{local:?}");

        let transport = &report.transport;
        assert_eq!(transport.ice_role, [IceRole::Controlling, IceRole::Controlled][side]);
        assert_eq!(transport.ice_local_username_fragment, peer.local_ufrag());
        assert_eq!((transport.ice_state, transport.dtls_state), (IceState::Connected, DtlsState::Connected));
        assert_eq!(transport.dtls_role, Some([DtlsRole::Server, DtlsRole::Client][side]));
        assert_eq!(transport.tls_version, Some("FEFC"));
        assert_eq!(
            (transport.selected_candidate_pair_id, transport.selected_candidate_pair_changes),
            (Some(0), 1)
        );

        let [pair] = &report.candidate_pairs[..] else { panic!("{report:?}") };
        assert_eq!((pair.local_candidate_id, pair.remote_candidate_id), (0, 0));
        assert_eq!((pair.state, pair.nominated), (CandidatePairState::Succeeded, true));
        assert_eq!(pair.current_round_trip_time, Some(Duration::from_millis(20)));
        assert!(pair.total_round_trip_time >= Duration::from_millis(20) * 4, "{pair:?}");
        assert!(
            pair.consent_requests_sent >= 3 && pair.requests_sent > pair.consent_requests_sent,
            "{pair:?}"
        );
        assert!(
            pair.requests_received >= 4 && pair.responses_sent >= 4 && pair.responses_received >= 4,
            "{pair:?}"
        );
        // One pair carries everything; ICE traffic is counted in neither.
        let of_pair = (pair.packets_sent, pair.packets_received, pair.bytes_sent, pair.bytes_received);
        let of_transport = (
            transport.packets_sent,
            transport.packets_received,
            transport.bytes_sent,
            transport.bytes_received,
        );
        assert_eq!(of_pair, of_transport);
        let checks = pair.requests_sent + pair.responses_sent;
        assert_eq!(peer.stats().packets_sent, transport.packets_sent + checks);

        let [ours, theirs] = &report.certificates[..] else { panic!("{report:?}") };
        assert_eq!((transport.local_certificate_id, transport.remote_certificate_id), (0, Some(1)));
        assert_eq!(ours.fingerprint, peer.local_fingerprint());
        assert_eq!(Some(theirs.fingerprint), peer.remote_fingerprint());
        assert_eq!(theirs.fingerprint, net.peers[1 - side].local_fingerprint());
        assert_eq!(
            theirs.base64_certificate,
            net.peers[1 - side].report().certificates[0].base64_certificate
        );
        assert_eq!((theirs.fingerprint_algorithm, &theirs.base64_certificate[..2]), ("sha-256", "MI"));
        assert_eq!(peer.remote_certificate().map(<[u8]>::len), Some(CERTIFICATES[1 - side].der().len()));

        let [stats] = &report.data_channels[..] else { panic!("{report:?}") };
        assert_eq!((&stats.label[..], stats.state), ("test", ChannelState::Open));
        assert_eq!(stats.data_channel_identifier, peer.stream(channel));
        assert_eq!([stats.bytes_sent, stats.bytes_received][side], 5000);

        let selected = peer.selected_pair().unwrap();
        assert_eq!((&selected.local, &selected.remote), (local, remote));
        assert_eq!(peer.remote_address(), Some(address(1 - side)));
    }
    let sent = net.peers[0].report().candidate_pairs[0].bytes_sent - before.candidate_pairs[0].bytes_sent;
    assert!(sent > 5000, "{sent}");
    net.peers[0].close(net.now);
    net.run(Duration::from_secs(1));
    let report = net.peers[0].report();
    assert_eq!((report.transport.dtls_state, report.data_channels.len()), (DtlsState::Closed, 0));
}

/// Like a browser that hides its addresses: the peer's checks reveal them.
#[test]
fn a_report_contains_addresses_learned_from_checks() {
    let mut net = Net::new();
    net.peers[0].create_channel(net.now, "a", ChannelOptions::default()).unwrap();
    let offer = net.peers[0].create_offer(net.now, false).unwrap();
    let answer = net.peers[1].accept_offer(net.now, &offer).unwrap();
    let hidden: String =
        answer.split_inclusive('\n').filter(|line| !line.starts_with("a=candidate")).collect();
    net.peers[0].accept_answer(net.now, &hidden).unwrap();
    net.run_until(|net| net.state(0) == PeerState::Connected);
    let report = net.peers[0].report();
    let [remote] = &report.remote_candidates[..] else { panic!("{report:?}") };
    assert_eq!((remote.socket_address(), remote.candidate_type), (address(1), CandidateKind::PeerReflexive));
    let selected = report.transport.selected_candidate_pair_id.unwrap();
    assert_eq!(report.candidate_pairs[selected].state, CandidatePairState::Succeeded);
    assert_eq!(&net.peers[0].selected_pair().unwrap().remote, remote);
}

/// Reports of a connection that has not started, and of one without a reachable peer.
#[test]
fn a_report_of_a_connection_without_a_path() {
    let mut net = Net::new();
    let report = net.peers[0].report();
    assert_eq!((report.transport.ice_role, report.transport.dtls_state), (IceRole::Unknown, DtlsState::New));
    assert_eq!((report.certificates.len(), report.transport.remote_certificate_id), (1, None));
    assert!(report.candidate_pairs.is_empty() && net.peers[0].selected_pair().is_none());
    net.filter = Some(Box::new(|_| false));
    net.signal();
    net.run(Duration::from_secs(1));
    let pair = &net.peers[0].report().candidate_pairs[0];
    assert_eq!((pair.state, pair.responses_received), (CandidatePairState::InProgress, 0));
    assert!(pair.requests_sent > 0 && pair.current_round_trip_time.is_none() && !pair.nominated);
    net.run(Duration::from_secs(30));
    let report = net.peers[0].report();
    assert_eq!(report.candidate_pairs[0].state, CandidatePairState::Failed);
    assert_eq!((report.transport.bytes_sent, report.transport.selected_candidate_pair_id), (0, None));
}

/// Round trips from the answer to the first message of a channel that was created before.
#[test]
fn round_trips_to_the_first_message() {
    for opener in 0..2 {
        let mut net = Net::new();
        let channel = net.peers[opener].create_channel(net.now, "", ChannelOptions::default()).unwrap();
        net.signal();
        net.run_until(|net| net.has(opener, &Event::Open(channel)));
        let opened = net.now - net.start;
        net.send(opener, channel, Kind::Text, b"x");
        net.run_until(|net| net.messages[1 - opener].len() == 1);
        let arrived = net.now - net.start;
        println!(
            "opener {opener}: open after {opened:?}, first message after {arrived:?} of 20 ms round trips"
        );
        // Check 1, DTLS 2 or 2 1/2, INIT and INIT ACK 1, COOKIE ECHO with the opening and the message 1/2.
        let most = if opener == 0 { 100 } else { 110 };
        assert!(arrived <= Duration::from_millis(most), "{arrived:?}");
    }
}

#[test]
fn candidates_that_come_later() {
    let (mut net, now) = (Net::new(), std::time::Instant::now());
    let strip = |text: String| {
        let lines = text.split_inclusive("\r\n").filter(|line| !line.starts_with("a=candidate"));
        lines.collect::<String>()
    };
    let channel = net.peers[0].create_channel(now, "", ChannelOptions::default()).unwrap();
    let lines = [0, 1].map(|side: usize| net.peers[side].local_candidates());
    assert!(matches!(net.peers[0].add_remote_candidate(now, &lines[1][0]), Err(SignalingError::State(_))));
    let offer = strip(net.peers[0].create_offer(net.now, false).unwrap());
    let answer = strip(net.peers[1].accept_offer(net.now, &offer).unwrap());
    net.peers[0].accept_answer(net.now, &answer).unwrap();
    net.run(Duration::from_secs(1));
    assert_eq!(net.state(0), PeerState::Connecting);
    // One side receives the candidate; the other learns the address from the checks.
    let now = net.now;
    let mdns = "candidate:1 1 udp 1 0a1b2c3d-1111-4222-8333-444455556666.local 5000 typ host";
    net.peers[1].add_remote_candidate(now, mdns).unwrap();
    net.peers[0].add_remote_candidate(now, &lines[1][0]).unwrap();
    net.peers[0].add_remote_candidate(now, "").unwrap();
    assert!(net.peers[0].add_remote_candidate(now, "candidate:x").is_err());
    net.run_until(|net| net.has(0, &Event::Open(channel)) && net.incoming(1).len() == 1);
}

#[test]
fn a_lite_side() {
    for lite in 0..2 {
        let mut configs = [config(0), config(1)];
        configs[lite].ice_lite = true;
        let (mut net, [near, _]) = Net::connected_with(configs, ChannelOptions::default());
        net.send(0, near, Kind::Text, b"x");
        net.run(Duration::from_secs(60));
        assert_eq!(net.messages[1].len(), 1);
        assert_eq!((net.state(0), net.state(1)), (PeerState::Connected, PeerState::Connected));
    }
    let mut configs = [config(0), config(1)];
    configs.iter_mut().for_each(|config| config.ice_lite = true);
    let mut net = Net::with(configs);
    let offer = net.peers[0].create_offer(net.now, false).unwrap();
    assert!(matches!(net.peers[1].accept_offer(net.now, &offer), Err(SignalingError::State(_))));
}

#[test]
fn an_unexpected_certificate_is_refused() {
    let mut net = Net::new();
    let offer = net.peers[0].create_offer(net.now, false).unwrap();
    let answer = net.peers[1].accept_offer(net.now, &offer).unwrap();
    let promised = config(1).certificate.fingerprint().to_string();
    let other = config(0).certificate.fingerprint().to_string();
    net.peers[0].accept_answer(net.now, &answer.replace(&promised, &other)).unwrap();
    net.run(Duration::from_secs(2));
    assert!(net.has(0, &Event::Failed(Error::Fingerprint)), "{:?}", net.events);
    assert_eq!(net.state(0), PeerState::Failed);
    net.run(Duration::from_secs(60));
    assert_ne!(net.state(1), PeerState::Connected);
}

#[test]
fn a_restart_while_data_flows() {
    let (mut net, [near, _]) = Net::connected(ChannelOptions::default());
    let ufrags = |net: &Net| net.peers.each_ref().map(|peer| peer.local_ufrag().to_owned());
    let before = ufrags(&net);
    for round in 0..400 {
        net.send(0, near, Kind::Binary, &[round as u8; 1000]);
        if round == 100 {
            let offer = net.peers[0].create_offer(net.now, true).unwrap();
            let answer = net.peers[1].accept_offer(net.now, &offer).unwrap();
            net.peers[0].accept_answer(net.now, &answer).unwrap();
        }
        net.run(Duration::from_millis(1));
    }
    net.run_until(|net| net.messages[1].len() == 400);
    assert!(before.iter().zip(ufrags(&net)).all(|(before, now)| *before != now));
    net.run(Duration::from_secs(60));
    assert!((0..2).all(|side| net.state(side) == PeerState::Connected));
    assert!(net.messages[1].iter().enumerate().all(|(at, message)| message.data[0] == at as u8));
}

#[test]
fn offers_and_answers_at_the_wrong_time() {
    let mut net = Net::new();
    let now = net.now;
    let offer = net.peers[0].create_offer(now, false).unwrap();
    let is_state = |result: Result<(), SignalingError>| matches!(result, Err(SignalingError::State(_)));
    assert!(is_state(net.peers[0].accept_offer(now, &offer).map(drop)), "an offer of ours waits");
    assert!(is_state(net.peers[1].accept_answer(now, &offer)), "no offer of ours");
    let answer = net.peers[1].accept_offer(now, &offer).unwrap();
    assert!(net.peers[0].accept_answer(now, &answer.replace("a=setup:active", "a=setup:actpass")).is_err());
    assert!(net.peers[0].accept_answer(now, "v=0").is_err());
    net.peers[0].accept_answer(now, &answer).unwrap();
    assert!(is_state(net.peers[0].accept_answer(now, &answer)), "answered already");
    net.run(Duration::from_secs(1));
    assert_eq!(net.state(0), PeerState::Connected);
    // From the other side, with the same DTLS roles; another certificate requires a new connection.
    let offer = net.peers[1].create_offer(net.now, false).unwrap();
    let fingerprints = [0, 1].map(|side| config(side).certificate.fingerprint().to_string());
    let changed = offer.replace(&fingerprints[1], &fingerprints[0]);
    assert!(is_state(net.peers[0].accept_offer(net.now, &changed).map(drop)));
    let answer = net.peers[0].accept_offer(net.now, &offer).unwrap();
    assert!(answer.contains("a=setup:passive"));
    net.peers[1].accept_answer(net.now, &answer).unwrap();
    let version = |text: &str| text.lines().nth(1).unwrap().split(' ').nth(2).unwrap().to_owned();
    assert_eq!((version(&offer), version(&answer)), ("3".into(), "3".into()));
}

#[test]
fn an_offer_with_audio_is_answered_in_order() {
    let mut net = Net::new();
    let offer = net.peers[0].create_offer(net.now, false).unwrap();
    let audio = "m=audio 9 UDP/TLS/RTP/SAVPF 111\r\nc=IN IP4 0.0.0.0\r\na=mid:a\r\nm=application";
    let answer = net.peers[1].accept_offer(net.now, &offer.replace("m=application", audio)).unwrap();
    let sections: Vec<_> = answer.lines().filter(|line| line.starts_with("m=")).collect();
    let data = "m=application 9 UDP/DTLS/SCTP webrtc-datachannel";
    assert_eq!(sections, ["m=audio 0 UDP/TLS/RTP/SAVPF 111", data]);
    // Our offers keep it in its position.
    let offer = net.peers[1].create_offer(net.now, false).unwrap();
    assert!(offer.find("m=audio 0").unwrap() < offer.find("m=application 9").unwrap());
}

#[test]
fn the_end_by_either_side() {
    for side in 0..2 {
        let (mut net, channels) = Net::connected(ChannelOptions::default());
        net.run(Duration::from_secs(1));
        let before = net.sent;
        let now = net.now;
        net.peers[side].close(now);
        net.run(Duration::from_millis(100));
        assert_eq!(net.sent[side], before[side] + 1, "one datagram");
        for (side, &channel) in channels.iter().enumerate() {
            assert_eq!(net.state(side), PeerState::Closed);
            assert_eq!(net.count(side, &Event::ChannelClosed(channel)), 1);
            assert_eq!(net.count(side, &Event::State(PeerState::Closed)), 1);
            assert!(!net.events[side].iter().any(|event| matches!(event, Event::Failed(_))));
            assert_eq!(net.peers[side].channel_state(channel), ChannelState::Closed);
            assert_eq!(net.peers[side].send(net.now, channel, Kind::Text, b"x"), Err(SendError::Closed));
            assert_eq!(net.peers[side].next_deadline(), None);
            assert!(net.peers[side].create_offer(net.now, false).is_err());
        }
    }
}

#[test]
fn messages_received_before_the_end_can_be_read() {
    let (mut net, [near, far]) = Net::connected(ChannelOptions::default());
    net.reads[1] = false;
    for _ in 0..10 {
        net.send(0, near, Kind::Text, b"x");
    }
    net.run(Duration::from_secs(1));
    let now = net.now;
    net.peers[0].close(now);
    net.run(Duration::from_secs(1));
    assert!(net.has(1, &Event::ChannelClosed(far)));
    net.reads[1] = true;
    net.collect();
    assert_eq!(net.messages[1].len(), 10);
}

#[test]
fn silence_ends_it() {
    let (mut net, channels) = Net::connected(ChannelOptions::default());
    net.filter = Some(Box::new(|flying| {
        // Without consent nothing is sent (RFC 7675 section 5.1): neither ABORT nor close_notify.
        let next = || 5 + usize::from(u16::from_be_bytes([flying.bytes[3], flying.bytes[4]]));
        assert!(flying.bytes[0] < 20 || flying.bytes.get(next()).is_none());
        false
    }));
    net.run(Duration::from_secs(20));
    assert!((0..2).all(|side| net.state(side) == PeerState::Disconnected));
    net.run(Duration::from_secs(15));
    for (side, channel) in channels.into_iter().enumerate() {
        assert_eq!(net.state(side), PeerState::Failed);
        assert!(net.has(side, &Event::Ice(IceState::Disconnected)));
        assert!(net.events[side].iter().any(|event| matches!(event, Event::Failed(Error::Ice(_)))));
        assert!(!net.has(side, &Event::ChannelClosed(channel)));
    }
}

#[test]
fn connects_despite_one_eighth_loss() {
    for seed in 1..20_u64 {
        let mut net = Net::new();
        let mut state = seed;
        net.filter = Some(Box::new(move |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            !(state >> 33).is_multiple_of(8)
        }));
        let channel = net.peers[1].create_channel(net.now, "", ChannelOptions::default()).unwrap();
        net.signal();
        net.run_until(|net| net.has(1, &Event::Open(channel)) && net.incoming(0).len() == 1);
        net.send(1, channel, Kind::Text, b"x");
        net.run_until(|net| net.messages[0].len() == 1);
    }
}

#[test]
fn descriptions_are_a_function_of_the_seed() {
    let offers = [0; 2].map(|_| {
        let mut net = Net::new();
        let offer = net.peers[0].create_offer(net.now, false).unwrap();
        (net.peers[1].accept_offer(net.now, &offer).unwrap(), offer)
    });
    assert_eq!(offers[0], offers[1]);
}

#[test]
fn settings_that_cannot_work() {
    let now = std::time::Instant::now();
    let mut config = config(0);
    config.datagram_bytes = 100;
    let made = netdyno_rtc_core::PeerConnection::new(std::sync::Arc::new(config), [0; 32], now);
    assert!(matches!(made, Err(Error::Config(_))));
    assert_ne!(address(0), address(1));
}

/// The agent's limit on user names is 128 bytes.
#[test]
fn the_longest_user_name_fragment_is_accepted_and_a_longer_one_refused() {
    for (length, is_taken) in [(119, true), (120, false), (256, false)] {
        let mut net = Net::new();
        net.peers[0].create_channel(net.now, "", ChannelOptions::default()).unwrap();
        let offer = net.peers[0].create_offer(net.now, false).unwrap();
        let line = offer.lines().find(|line| line.starts_with("a=ice-ufrag:")).unwrap();
        let offer = offer.replace(line, &format!("a=ice-ufrag:{}", "x".repeat(length)));
        assert_eq!(net.peers[1].accept_offer(net.now, &offer).is_ok(), is_taken, "{length}");
        // Its checks are sent.
        net.run(Duration::from_secs(1));
    }
}

/// Neither before nor after the connection is established.
#[test]
fn debug_output_contains_no_secret() {
    let mut net = Net::new();
    net.peers[0].create_channel(net.now, "", ChannelOptions::default()).unwrap();
    // The seed of the association's secrets is the first draw.
    let seed = {
        use rand_chacha::rand_core::{Rng, SeedableRng};
        let mut seed = [0; 32];
        rand_chacha::ChaCha20Rng::from_seed([1; 32]).fill_bytes(&mut seed);
        format!("{seed:?}")
    };
    let text = format!("{:?}", net.peers[0]);
    assert!(text.contains("sctp_seed") && !text.contains(&seed), "{text}");
    let offer = net.peers[0].create_offer(net.now, false).unwrap();
    let answer = net.peers[1].accept_offer(net.now, &offer).unwrap();
    net.peers[0].accept_answer(net.now, &answer).unwrap();
    let passwords = [&offer, &answer].map(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("a=ice-pwd:"));
        line.unwrap().to_owned()
    });
    let check = |net: &Net| {
        let text = format!("{:?}", net.peers);
        assert!(passwords.iter().all(|password| !text.contains(password)), "{text}");
    };
    check(&net);
    net.run(Duration::from_secs(1));
    assert_eq!(net.state(0), PeerState::Connected);
    check(&net);
}
