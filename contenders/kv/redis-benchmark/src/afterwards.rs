//! The check of stored values after the load: keys are read back.

use std::io::{Read, Write};
use std::net::TcpStream;

use netdyno_contender::kv::{Answer, Job, Values, append_get, connect, key_name, parse};

use crate::limits::{ANSWER_BYTES, MAX_CHECKED_KEYS, MAX_PRINTED};

/// Returns the number of keys with a wrong value. A key must have its own value, or after SET by the program, any value of its
/// length.
pub fn other_values(job: &Job, port: u16) -> Result<u64, String> {
    let (mut links, _) = connect(job.peer(port), 1)?;
    let link = links.first_mut().ok_or("no connection for reading keys back")?;
    let values = Values::new(job.seed, job.value_bytes);
    let (mut other, mut space) = (0, vec![0; job.value_bytes + ANSWER_BYTES]);
    let step = job.keys.div_ceil(MAX_CHECKED_KEYS).max(1);
    for key in (0..job.keys).step_by(usize::try_from(step).unwrap_or(usize::MAX)) {
        let answer = ask(link, key, &mut space).map_err(|why| format!("afterwards: GET of a key: {why}"))?;
        let written = |value: &[u8]| job.set_percent > 0 && value.len() == job.value_bytes;
        if !matches!(answer, Answer::Bulk(value) if values.matches(key, value) || written(value)) {
            other += 1;
            if other <= MAX_PRINTED {
                let name = key_name(key);
                eprintln!("afterwards: GET {} returned {}", name.escape_ascii(), answer.describe());
            }
        }
    }
    Ok(other)
}

fn ask<'a>(link: &mut TcpStream, key: u64, space: &'a mut [u8]) -> Result<Answer<'a>, String> {
    let mut request = Vec::new();
    append_get(&mut request, key);
    link.write_all(&request).map_err(|e| e.to_string())?;
    let mut length = 0;
    loop {
        match link.read(&mut space[length..]).map_err(|e| e.to_string())? {
            0 if length == space.len() => return Err("the answer is longer than its value".to_owned()),
            0 => return Err("the server closed the connection".to_owned()),
            more => length += more,
        }
        if parse(&space[..length])?.is_some() {
            break;
        }
    }
    let (answer, _) = parse(&space[..length])?.ok_or("the answer is incomplete")?;
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use netdyno_contender::Lab;
    use netdyno_contender::kv::{GET_BYTES, GET_SETUP, NULL};
    use serde_json::json;

    use super::*;

    /// Returns how many of three keys are wrong if a server answers each with `answer`.
    fn others(
        set_percent: u64,
        answer: impl Fn(u64, &Values) -> Vec<u8> + Send + 'static,
    ) -> Result<u64, String> {
        let setup = json!({
            "protocol": 1, "workload": "kv", "role": "load", "seed": 3, "local": "127.0.0.1", "peer": "127.0.0.1",
            "params": { "connections": 1, "pipeline": 1, "value_bytes": 10, "keys": 3, "set_percent": set_percent,
                        "distribution": "uniform", "rate": 0, "pacing": "spin", "seconds": 1.0, "verify_keys": 2 },
        });
        let job = Job::new(Lab::for_tests(), &serde_json::from_value(setup).unwrap(), "load");
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = std::thread::spawn(move || {
            let values = Values::new(3, 10);
            let mut link = listener.accept().unwrap().0;
            link.read_exact(&mut [0; GET_SETUP.len()]).unwrap();
            link.write_all(NULL).unwrap();
            for key in 0..3 {
                if link.read_exact(&mut [0; GET_BYTES]).is_err() {
                    return;
                }
                link.write_all(&answer(key, &values)).unwrap();
            }
        });
        let found = other_values(&job, port);
        server.join().unwrap();
        found
    }

    fn bulk(value: &[u8]) -> Vec<u8> {
        [format!("${}\r\n", value.len()).as_bytes(), value, b"\r\n"].concat()
    }

    #[test]
    fn keys_have_their_own_value_or_after_sets_one_of_its_length() {
        let own = |key: u64, values: &Values| {
            let mut value = Vec::new();
            values.append(&mut value, key);
            bulk(&value)
        };
        assert_eq!(others(0, own), Ok(0));
        assert_eq!(others(100, own), Ok(0));
        assert_eq!(others(100, |_, _| bulk(&[b'x'; 10])), Ok(0));
        assert_eq!(
            others(0, move |key, values| if key == 1 { bulk(&[b'x'; 10]) } else { own(key, values) }),
            Ok(1)
        );
        assert_eq!(others(100, |_, _| bulk(&[b'x'; 9])), Ok(3));
        assert_eq!(others(100, |_, _| NULL.to_vec()), Ok(3));
        assert!(others(100, |_, _| bulk(&[b'x'; 200])).unwrap_err().contains("longer"));
    }
}
