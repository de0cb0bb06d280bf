//! Many clients, of whom some take nothing.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use netdyno_mjpeg::core::Jpeg;
use netdyno_mjpeg::server::Left;
use netdyno_mjpeg::source::Timing;

use super::client::Client;
use super::{Scans, serve, support};

const CLIENTS: usize = 200;
/// Of 200 clients every tenth takes nothing.
const STALLED: usize = CLIENTS / 10;

/// 200 clients, half of them by UDP; some stall, from the beginning or after a while: their connections are given back, open. Each
/// of the others sees so many frames, none left out.
fn watch(address: SocketAddr, clip: &Scans, frames: usize) -> Vec<Client> {
    let one = |number: usize| {
        let mut client = Client::connect(address);
        if number.is_multiple_of(CLIENTS / STALLED) {
            client.play_tcp();
            clip.see(&mut client, if number.is_multiple_of(20) { 0 } else { 5 });
            return Some(client);
        }
        let answer = if number.is_multiple_of(2) { client.play_tcp() } else { client.play_udp() };
        assert_eq!(answer.code, 200);
        clip.see(&mut client, frames);
        client.ask("TEARDOWN", "", "");
        None
    };
    thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS).map(|number| scope.spawn(move || one(number))).collect();
        clients.into_iter().filter_map(|client| client.join().unwrap()).collect()
    })
}

#[test]
fn two_hundred_clients_of_whom_some_stall() {
    const FRAMES: usize = 40;
    let clip = (0..5).map(|seed| support::plain(480, 360, seed + 1)).collect();
    let served = serve(clip, usize::MAX, Timing::OnDemand, |config| {
        config.frames_per_s = 10.0;
        // More than a busy machine makes a client wait that does take what comes.
        config.stall = Duration::from_secs(3);
        config.max_clients_per_host = CLIENTS;
    });
    let stalled = watch(served.address, &served.clip, FRAMES);
    let (mut ended, mut given_up) = (0, 0);
    while ended + given_up < CLIENTS {
        let (why, frames, left_out) = served.stopped();
        if why == Left::Ended {
            ended += 1;
            assert!(frames >= FRAMES as u64 && left_out == 0, "{frames} {left_out}");
        } else {
            given_up += 1;
            assert!(why == Left::Stalled && left_out > 0, "{why:?} {left_out}");
        }
    }
    assert_eq!((given_up, stalled.len()), (STALLED, STALLED));
    served.stop();
}

/// What serving 200 clients costs a server in a process of its own, NETDYNO_MJPEG or the one built with the test.
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
    let stalled = watch(address, &clip, FRAMES);
    let seconds = begin.elapsed().as_secs_f64();
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", server.id())).unwrap();
    let fields: Vec<&str> = stat.split(' ').collect();
    // Ticks of 10 ms, in user and in kernel mode.
    let cpu = (fields[13].parse::<f64>().unwrap() + fields[14].parse::<f64>().unwrap()) / 100.0;
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap();
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    let bytes = pictures.iter().map(Vec::len).sum::<usize>() / pictures.len();
    println!("{seconds:.1} s, {bytes} bytes a picture: CPU {:.1} % of a core; {peak}", cpu / seconds * 100.0);
    drop(stalled);
    server.kill().unwrap();
    server.wait().unwrap();
}
