//! A controller for one verb, and the handling of Ctrl-C.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use netdyno_echonet::core::{
    Answer, AnswerError, ControllerConfig, ControllerEvent, Eoj, Epc, NodeAddress, Request,
};
use netdyno_echonet::{Controller, Settings, Waker};
use signal_hook::consts::TERM_SIGNALS;
use signal_hook::flag::register_conditional_shutdown;
use signal_hook::iterator::Signals;

use super::Failure;

/// Property maps, which are read for their contents and not printed.
pub(crate) const MAPS: [Epc; 3] = [Epc::ANNOUNCEMENT_MAP, Epc::SET_MAP, Epc::GET_MAP];

/// Interval at which a waiting thread is woken again once the program is to end.
const WAKE_AGAIN: Duration = Duration::from_millis(50);

/// A request to one object.
pub(crate) struct Question {
    pub(crate) node: NodeAddress,
    pub(crate) eoj: Eoj,
    pub(crate) epcs: Vec<Epc>,
}

/// Set when the program is to end.
#[derive(Debug, Clone, Default)]
pub(crate) struct End(Arc<AtomicBool>);

impl End {
    /// The first signal sets it and wakes the waiting thread, the second ends the process.
    pub(crate) fn on_signals(&self, waker: Waker) -> Result<(), Failure> {
        for signal in TERM_SIGNALS {
            register_conditional_shutdown(*signal, 128 + *signal, self.0.clone())?;
        }
        let mut signals = Signals::new(TERM_SIGNALS)?;
        let end = self.clone();
        let obey = move || {
            let _ = signals.forever().next();
            end.0.store(true, Ordering::Release);
            // The waiting thread may miss the first wake-up if a deadline passes at the same moment.
            loop {
                waker.wake();
                std::thread::sleep(WAKE_AGAIN);
            }
        };
        std::thread::Builder::new().name("signals".to_owned()).spawn(obey)?;
        Ok(())
    }

    pub(crate) fn is_wanted(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

pub(crate) struct Session {
    pub(crate) controller: Controller,
    pub(crate) end: End,
}

impl Session {
    /// A signal ends the process, as usual.
    pub(crate) fn open(settings: &Settings, config: ControllerConfig) -> Result<Self, Failure> {
        Ok(Self { controller: Controller::open(settings, config)?, end: End::default() })
    }

    /// A signal sets `end`.
    pub(crate) fn until_ended(settings: &Settings, config: ControllerConfig) -> Result<Self, Failure> {
        let session = Self::open(settings, config)?;
        session.end.on_signals(session.controller.waker())?;
        Ok(session)
    }

    /// Searches for this long.
    pub(crate) fn search(&mut self, wait: Duration) -> Result<(), Failure> {
        self.controller.search();
        let until = Instant::now() + wait;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            self.controller.poll(Some(left))?;
        }
    }

    /// Sends all requests at once, one at a time to each node, and returns the answers in the order of the
    /// requests.
    pub(crate) fn ask(
        &mut self,
        questions: &[Question],
    ) -> Result<Vec<Result<Answer, AnswerError>>, Failure> {
        let mut places = HashMap::new();
        let mut answers: Vec<_> = questions.iter().map(|_| Err(AnswerError::Cancelled)).collect();
        for (place, Question { node, eoj, epcs }) in questions.iter().enumerate() {
            if !epcs.is_empty() {
                let request = Request::Get(epcs);
                let id =
                    self.controller.begin(*node, *eoj, request).map_err(netdyno_echonet::CallError::from)?;
                places.insert(id, place);
            }
        }
        while !places.is_empty() {
            if let Some(ControllerEvent::Answer { id, result, .. }) = self.controller.poll(None)?
                && let Some(place) = places.remove(&id)
            {
                answers[place] = result;
            }
        }
        Ok(answers)
    }

    /// The device objects that a node reports.
    pub(crate) fn objects(&mut self, node: NodeAddress) -> Result<Vec<Eoj>, Failure> {
        let answer = self.controller.get(node, Eoj::NODE_PROFILE, &[Epc::INSTANCE_LIST]);
        let answer = answer.map_err(Failure::at(node))?;
        let list = answer
            .get(Epc::INSTANCE_LIST)
            .and_then(|list| list.split_first())
            .map_or(&[][..], |(_, list)| list);
        Ok(list.chunks_exact(3).map(|eoj| Eoj([eoj[0], eoj[1], eoj[2]])).collect())
    }

    /// The readable properties of each object, without property maps.
    pub(crate) fn readable(&mut self, objects: Vec<(NodeAddress, Eoj)>) -> Result<Vec<Question>, Failure> {
        let ask_map = |&(node, eoj): &(NodeAddress, Eoj)| Question { node, eoj, epcs: vec![Epc::GET_MAP] };
        let questions: Vec<_> = objects.iter().map(ask_map).collect();
        let maps = self.ask(&questions)?;
        let questions = objects.into_iter().zip(maps).map(|((node, eoj), answer)| {
            let map = match answer {
                Ok(answer) => map_of(&answer, Epc::GET_MAP).unwrap_or_default(),
                // A missing object does not answer either.
                Err(AnswerError::Timeout) => Vec::new(),
                Err(error) => return Err(Failure::At(node, error.into())),
            };
            Ok(Question { node, eoj, epcs: map.into_iter().filter(|epc| !MAPS.contains(epc)).collect() })
        });
        questions.collect()
    }
}

/// The codes of a property map in an answer.
pub(crate) fn map_of(answer: &Answer, epc: Epc) -> Option<Vec<Epc>> {
    let map = netdyno_echonet::core::PropertyMap::decode(answer.get(epc)?).ok()?;
    Some(map.iter().collect())
}
