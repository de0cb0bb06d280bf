//! Many clients, some of which stall.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use netdyno_mjpeg::core::Jpeg;
use netdyno_mjpeg::server::StopReason;
use netdyno_mjpeg::source::Timing;

use super::client::Client;
use super::{Scans, serve, support};

const CLIENTS: usize = 200;
/// Every tenth client stalls.
const STALLED: usize = CLIENTS / 10;

/// Runs 200 clients, half of them over UDP, and returns the open connections of those that stall, at once or after 5 frames. The
/// others must receive `frames` consecutive frames.
fn play(address: SocketAddr, clip: &Scans, frames: usize) -> Vec<Client> {
    let run_client = |number: usize| {
        let mut client = Client::connect(address);
        if number.is_multiple_of(CLIENTS / STALLED) {
            client.play_tcp();
            clip.expect_frames(&mut client, if number.is_multiple_of(20) { 0 } else { 5 });
            return Some(client);
        }
        let response = if number.is_multiple_of(2) { client.play_tcp() } else { client.play_udp() };
        assert_eq!(response.code, 200);
        clip.expect_frames(&mut client, frames);
        client.request("TEARDOWN", "", "");
        None
    };
    thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS).map(|number| scope.spawn(move || run_client(number))).collect();
        clients.into_iter().filter_map(|client| client.join().unwrap()).collect()
    })
}

#[test]
fn stalled_clients_do_not_affect_others() {
    const FRAMES: usize = 40;
    let clip = (0..5).map(|seed| support::plain(480, 360, seed + 1)).collect();
    let served = serve(clip, usize::MAX, Timing::OnDemand, |config| {
        config.frames_per_s = 10.0;
        // Exceeds scheduling delays of other clients on a busy machine.
        config.stall_timeout = Duration::from_secs(3);
        config.max_clients_per_host = CLIENTS;
    });
    let stalled = play(served.address, &served.clip, FRAMES);
    let (mut ended, mut disconnected) = (0, 0);
    while ended + disconnected < CLIENTS {
        let (reason, frames, skipped) = served.stopped();
        if reason == StopReason::Teardown {
            ended += 1;
            assert!(frames >= FRAMES as u64 && skipped == 0, "{frames} {skipped}");
        } else {
            disconnected += 1;
            assert!(reason == StopReason::Stalled && skipped > 0, "{reason:?} {skipped}");
        }
    }
    assert_eq!((disconnected, stalled.len()), (STALLED, STALLED));
    served.stop();
}

/// Measures CPU time and memory of a server process with 200 clients. NETDYNO_MJPEG names another program.
#[test]
#[ignore = "a measurement: run it alone, with a release build as NETDYNO_MJPEG"]
fn cost_of_two_hundred_clients() {
    const FRAMES: usize = 100;
    let pictures: Vec<_> = (0..5).map(|seed| support::plain(640, 480, seed + 1)).collect();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("clip.mjpeg");
    std::fs::write(&file, pictures.concat()).unwrap();
    let built = env!("CARGO_BIN_EXE_netdyno-mjpeg").to_owned();
    let program = std::env::var("NETDYNO_MJPEG").unwrap_or(built);
    let mut command = Command::new(program);
    command.arg("serve").arg(file).args(["--loop", "--fps", "10", "--listen", "127.0.0.1:0"]);
    command.args(["--clients-per-host", &CLIENTS.to_string()]);
    let mut server = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut url = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut url).unwrap();
    let address = url.trim().trim_start_matches("rtsp://").trim_end_matches("/stream").parse().unwrap();
    let begin = Instant::now();
    let clip = Scans(pictures.iter().map(|picture| Jpeg::parse(picture).unwrap().scan().to_vec()).collect());
    let stalled = play(address, &clip, FRAMES);
    let seconds = begin.elapsed().as_secs_f64();
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", server.id())).unwrap();
    let fields: Vec<&str> = stat.split(' ').collect();
    // User and system time in ticks of 10 ms.
    let cpu = (fields[13].parse::<f64>().unwrap() + fields[14].parse::<f64>().unwrap()) / 100.0;
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap();
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    let bytes = pictures.iter().map(Vec::len).sum::<usize>() / pictures.len();
    println!(
        "{seconds:.1} s, {bytes} bytes per picture: CPU {:.1} % of a core; {peak}",
        cpu / seconds * 100.0
    );
    drop(stalled);
    server.kill().unwrap();
    server.wait().unwrap();
}
