//! The `datachannel` workload on libdatachannel through the crate `datachannel`: callbacks on the library's threads notify one
//! thread per connection, as in the crate's tests.

mod handlers;
mod peer;

use std::sync::mpsc::{Sender, channel};
use std::thread;

use netdyno_contender::datachannel::{Candidate, Job, Order};
use netdyno_contender::{Lab, Phase, lock_version};

use peer::Peer;

/// The maximum message size that libdatachannel advertises by default.
const MAX_MESSAGE_BYTES: usize = 262_144;

/// A message to the thread of a connection.
enum Note {
    /// The other role's description.
    Remote(String),
    Candidate(Candidate),
    Start(Phase),
    /// The local description contains all candidates.
    Gathered,
    /// The buffered amount has fallen to the level that ends a pause.
    BufferedAmountLow,
}

fn main() {
    let (lab, setup, events) = Lab::connect();
    let job = Job::new(lab, &setup, MAX_MESSAGE_BYTES);
    let (notes, inboxes): (Vec<_>, Vec<_>) = (0..job.pairs).map(|_| channel()).unzip();
    let lanes = notes.clone();
    job.serve(events, move |order| hand_on(&lanes, order));
    // The version of the crate, followed by that of libdatachannel.
    let version = lock_version(include_str!("../Cargo.lock"), "datachannel-sys");
    lab.ready("libdatachannel", version, "libdatachannel threads");

    let threads = notes.into_iter().zip(inboxes).enumerate().map(|(connection, (notes, inbox))| {
        let job = job.clone();
        thread::spawn(move || {
            let peer = Peer::connect(job.clone(), connection, notes, &inbox);
            if let Err(reason) = peer.and_then(|peer| peer.run(&inbox)) {
                job.failed(connection, reason);
            }
        })
    });
    // Threads do not return: the stop ends the process.
    for thread in threads.collect::<Vec<_>>() {
        if thread.join().is_err() {
            lab.failed("a connection's thread panicked");
        }
    }
}

/// Passes an order to its thread. If a thread has ended, the process is about to exit.
fn hand_on(notes: &[Sender<Note>], order: Order) {
    match order {
        Order::Remote(connection, sdp) => drop(notes[connection].send(Note::Remote(sdp))),
        Order::Candidate(connection, candidate) => drop(notes[connection].send(Note::Candidate(candidate))),
        Order::Start(phase) => notes.iter().for_each(|note| drop(note.send(Note::Start(phase)))),
    }
}
