//! A custom command: `GREET name` returns a greeting and counts the calls.
//!
//! `cargo run -p netdyno-kv --example own_command`, then `redis-cli -p 7000 greet you`.

use netdyno_kv::Server;
use netdyno_kv::core::{Command, Context, Error, Flags, Group, Keys};

fn greet(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let so_far = context.string(args[1])?.map(String::from_utf8_lossy);
    let count = so_far.and_then(|text| text.parse::<u64>().ok()).unwrap_or(0) + 1;
    context.set_string(args[1], count.to_string().as_bytes())?;
    let name = String::from_utf8_lossy(args[1]);
    context.reply().bulk_display(format_args!("hello, {name}, for the {count}. time"));
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let command = Command::new("greet", 2, Flags::WRITE, Keys::single(), Group::String, greet);
    let server = Server::builder().bind(([127, 0, 0, 1], 7000)).command(command).start()?;
    println!("listening on {}", server.addresses()[0]);
    Ok(server.wait()?)
}
