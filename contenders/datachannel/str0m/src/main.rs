//! The `datachannel` workload on str0m, with the run loop of its documentation: each connection has a thread and a blocking UDP
//! socket with a read timeout, as in its `http-post` example.

mod peer;

use std::sync::mpsc::{Sender, channel};
use std::thread;

use netdyno_contender::datachannel::{Candidate, Job, Order};
use netdyno_contender::{Lab, Phase, lock_version};
use str0m::crypto::from_feature_flags;

use peer::Peer;

/// The maximum message size that str0m advertises by default.
const MAX_MESSAGE_BYTES: usize = 262_144;

/// A message to the thread of a connection.
enum Note {
    Remote(String),
    Candidate(Candidate),
    Start(Phase),
}

fn main() {
    let (lab, setup, events) = Lab::connect();
    let job = Job::new(lab, &setup, MAX_MESSAGE_BYTES);
    from_feature_flags().install_process_default();

    let (notes, inboxes): (Vec<_>, Vec<_>) = (0..job.pairs).map(|_| channel()).unzip();
    job.serve(events, move |order| hand_on(&notes, order));
    lab.ready("str0m", lock_version(include_str!("../Cargo.lock"), "str0m"), "std threads");
    let threads = inboxes.into_iter().enumerate().map(|(connection, inbox)| {
        let job = job.clone();
        thread::spawn(move || {
            if let Err(error) = Peer::connect(job.clone(), connection, inbox).and_then(Peer::run) {
                job.failed(connection, error);
            }
        })
    });
    for thread in threads.collect::<Vec<_>>() {
        if thread.join().is_err() {
            lab.failed("a connection's thread panicked");
        }
    }
    // All connections have ended, as at the answerer after the offerer has ended. Wait for the stop.
    loop {
        thread::park();
    }
}

/// Passes an order to its thread. A thread that has ended is ignored.
fn hand_on(notes: &[Sender<Note>], order: Order) {
    match order {
        Order::Remote(connection, sdp) => drop(notes[connection].send(Note::Remote(sdp))),
        Order::Candidate(connection, candidate) => drop(notes[connection].send(Note::Candidate(candidate))),
        Order::Start(phase) => notes.iter().for_each(|note| drop(note.send(Note::Start(phase)))),
    }
}
