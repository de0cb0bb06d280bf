//! ACL: users and their permissions.

use crate::args::{is, wrong_arguments};
use crate::command::{Command, Context, Subcommand, help, subcommand};
use crate::error::Error;
use crate::session::{Session, SessionId};
use crate::spec::{CATEGORIES, Flags, Group, Keys};

pub(super) const COMMANDS: &[Command] =
    &[Command::new("acl", -2, Flags::ADMIN, Keys::None, Group::Server, acl).containing(ACL_TABLE)];

fn acl(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    subcommand(context, args, "acl", ACL_TABLE)
}

fn get_user(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let name = String::from_utf8_lossy(args[2]);
    let Some(user) = context.world.acl.user(&name) else {
        context.reply.null();
        return Ok(());
    };
    let reply = &mut context.reply;
    reply.map(6);
    reply.bulk(b"flags");
    let flags = user.flags();
    reply.set(flags.len());
    flags.iter().for_each(|flag| reply.bulk(flag.as_bytes()));
    reply.bulk(b"passwords");
    let passwords = user.passwords();
    reply.array(passwords.len());
    passwords.for_each(|hash| reply.bulk(hash.as_bytes()));
    for (name, text) in
        [("commands", user.commands_text()), ("keys", user.keys_text()), ("channels", user.channels_text())]
    {
        reply.bulk(name.as_bytes());
        reply.bulk(text.as_bytes());
    }
    reply.bulk(b"selectors");
    reply.array(0);
    Ok(())
}

fn set_user(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let name = std::str::from_utf8(args[2]).map_err(|_| Error::fixed("ERR user names are UTF-8"))?;
    if name.contains([' ', '\0']) {
        return Err(Error::fixed("ERR Usernames can't contain spaces or null characters"));
    }
    let commands = context.commands;
    context.world.acl.set(name, &args[3..], &|name| commands.find(name.as_bytes()).is_some())?;
    let unrestricted = context.world.acl.is_unrestricted(name);
    for session in context.world.sessions.iter_mut().filter(|session| &*session.user == name) {
        session.unrestricted = unrestricted;
    }
    close_revoked_listeners(context, name);
    context.reply.ok();
    Ok(())
}

/// Closes the connections of a user with a subscription that the user may no longer have, as Redis does.
fn close_revoked_listeners(context: &mut Context<'_>, name: &str) {
    let acl = &context.world.acl;
    let may_listen = |session: &Session| {
        let mut channels = session.channels.iter().chain(&session.shard_channels);
        channels.all(|channel| acl.may_listen(name, channel, false))
            && session.patterns.iter().all(|pattern| acl.may_listen(name, pattern, true))
    };
    let sessions = context.world.sessions.iter().filter(|session| &*session.user == name);
    let revoked: Vec<_> = sessions.filter(|session| !may_listen(session)).map(|session| session.id).collect();
    revoked.into_iter().for_each(|id| context.end(id));
}

fn delete_users(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    if args[2..].contains(&&b"default"[..]) {
        return Err(Error::fixed("ERR The 'default' user cannot be removed"));
    }
    let mut deleted = 0;
    for name in &args[2..] {
        let name = String::from_utf8_lossy(name);
        if !context.world.acl.delete(&name) {
            continue;
        }
        deleted += 1;
        let gone: Vec<_> = context.world.sessions.iter().filter(|s| *s.user == *name).map(|s| s.id).collect();
        gone.into_iter().for_each(|id| context.end(id));
    }
    context.reply.integer(deleted);
    Ok(())
}

impl Context<'_> {
    /// Closes a session; the own one after this command's reply.
    fn end(&mut self, id: SessionId) {
        if id == self.id {
            self.close = true;
        } else {
            self.world.sessions.end(id);
        }
    }
}

fn categories(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let Some(wanted) = args.get(2) else {
        context.reply.array(CATEGORIES.len());
        CATEGORIES.iter().for_each(|name| context.reply.bulk(name.as_bytes()));
        return Ok(());
    };
    let Some(category) = CATEGORIES.iter().find(|name| is(wanted, name)) else {
        return Err(Error::new(format!("ERR Unknown category '{}'", String::from_utf8_lossy(wanted))));
    };
    let commands: Vec<_> = context.commands.iter().filter(|command| command.spec.is_in(category)).collect();
    context.reply.array(commands.len());
    commands.iter().for_each(|command| context.reply.bulk(command.spec.name.as_bytes()));
    Ok(())
}

fn generate_password(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let bits = args.get(2).map_or(Some(256), |text| crate::number::integer(text));
    let bits = bits.filter(|bits| (1..=4096).contains(bits)).ok_or(Error::fixed(
        "ERR ACL GENPASS argument must be the number of bits for the output password, a positive number up to 4096",
    ))?;
    let digits = usize::try_from((bits + 3) / 4).unwrap_or(64);
    context.reply.bulk(context.world.entropy.digits(digits).as_bytes());
    Ok(())
}

fn dry_run(context: &mut Context<'_>, args: &[&[u8]]) -> Result<(), Error> {
    let name = String::from_utf8_lossy(args[2]);
    if context.world.acl.user(&name).is_none() {
        return Err(Error::new(format!("ERR User '{name}' not found")));
    }
    let Some(index) = context.commands.find(args[3]) else {
        return Err(Error::new(format!("ERR Command '{}' not found", String::from_utf8_lossy(args[3]))));
    };
    let command = context.commands.get(index);
    if !command.spec.takes(args.len() - 3) {
        return Err(wrong_arguments(command.spec.name));
    }
    match context.world.acl.check(&name, &command.spec, &args[3..]) {
        Ok(()) => context.reply.ok(),
        Err(denial) => {
            let text = denial.error().text().trim_start_matches("NOPERM this").to_owned();
            context.reply.bulk(format!("This{text}").as_bytes());
        }
    }
    Ok(())
}

const ACL_TABLE: &[Subcommand] = &[
    ("whoami", 2, |c, _| {
        let user = c.session()?.user.clone();
        c.reply.bulk(user.as_bytes());
        Ok(())
    }),
    ("users", 2, |c, _| {
        let users = c.world.acl.users();
        c.reply.array(users.len());
        users.for_each(|(name, _)| c.reply.bulk(name.as_bytes()));
        Ok(())
    }),
    ("list", 2, |c, _| {
        let users = c.world.acl.users();
        c.reply.array(users.len());
        users.for_each(|(name, user)| c.reply.bulk(user.line(name).as_bytes()));
        Ok(())
    }),
    ("getuser", 3, get_user),
    ("setuser", -3, set_user),
    ("deluser", -3, delete_users),
    ("cat", -2, categories),
    ("genpass", -2, generate_password),
    ("dryrun", -4, dry_run),
    ("help", 2, |c, _| {
        help(
            c,
            "ACL",
            &[
                "CAT [<category>]",
                "    List all commands that belong to <category>, or all command categories",
                "    when no category is specified.",
                "DELUSER <username> [<username> ...]",
                "    Delete a list of users.",
                "GETUSER <username>",
                "    Get the user's details.",
                "LIST",
                "    Show users details in config file format.",
                "SETUSER <username> <attribute> [<attribute> ...]",
                "    Create or modify a user with the specified attributes.",
                "USERS",
                "    List all the registered usernames.",
                "WHOAMI",
                "    Return the current connection username.",
            ],
        );
        Ok(())
    }),
];
