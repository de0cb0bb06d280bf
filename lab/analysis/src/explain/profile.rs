//! Breakdown of a role's CPU time by system call and by function, from a profile. Pure functions.

use std::collections::BTreeMap;

use super::parse::KERNEL;

/// Place of CPU time. Each sample is in exactly one place.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// Code of the program and its libraries.
    User,
    /// A system call, by name.
    Call(String),
    /// Page faults.
    Fault,
    /// Interrupts: softirqs of the network, timers.
    Interrupt,
    /// Other kernel code.
    Kernel,
}

impl Place {
    /// Display name.
    pub fn name(&self) -> &str {
        match self {
            Place::User => "own code",
            Place::Call(name) => name,
            Place::Fault => "page faults",
            Place::Interrupt => "interrupts",
            Place::Kernel => "rest of the kernel",
        }
    }
}

/// Place and innermost function of a stack.
pub fn place(stack: &str) -> (Place, &str) {
    let function = stack.rsplit(';').next().unwrap_or(stack);
    // Interrupts and faults within a system call belong to the call.
    let mut in_call = false;
    for frame in stack.split(';') {
        let Some(name) = frame.strip_suffix(KERNEL) else { continue };
        let has = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
        if let Some(call) = call(name) {
            return (Place::Call(call.to_owned()), function);
        }
        in_call |= has(&["do_syscall", "el0_svc"]);
        match () {
            () if in_call => {}
            () if has(&["page_fault", "do_user_addr_fault"]) => return (Place::Fault, function),
            () if has(&INTERRUPTS) => return (Place::Interrupt, function),
            () => {}
        }
    }
    if function.ends_with(KERNEL) { (Place::Kernel, function) } else { (Place::User, function) }
}

/// Parts of the names of interrupt handlers and softirqs.
const INTERRUPTS: [&str; 7] =
    ["sysvec", "common_interrupt", "__irq", "irq_exit", "do_softirq", "el0_irq", "el1_irq"];

/// System call of a kernel entry function, such as `__x64_sys_sendto` or `__arm64_sys_recvfrom`. A tail call in the entry
/// function leaves no frame; then the called function is recognised: `ksys_write`, `__sys_sendmmsg`, `do_epoll_wait`.
fn call(name: &str) -> Option<&str> {
    const DIRECT: [(&str, &str); 6] = [
        ("do_epoll_wait", "epoll_wait"),
        ("do_readv", "readv"),
        ("do_writev", "writev"),
        ("do_sys_poll", "poll"),
        ("do_pselect", "pselect6"),
        ("do_futex", "futex"),
    ];
    let machine = || {
        let (machine, call) = name.strip_prefix("__")?.split_once("_sys_")?;
        ["x64", "ia32", "arm64", "riscv", "s390x", "se", "do"].contains(&machine).then_some(call)
    };
    let direct = || DIRECT.iter().find(|(function, _)| *function == name).map(|(_, call)| *call);
    machine().or_else(|| name.strip_prefix("ksys_").or_else(|| name.strip_prefix("__sys_"))).or_else(direct)
}

/// Samples by place, and by function of user code.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Places {
    /// All samples.
    pub samples: u64,
    /// By place.
    pub places: BTreeMap<Place, u64>,
    /// Samples of user code, by innermost function.
    pub functions: BTreeMap<String, u64>,
}

impl Places {
    /// Counts the samples of a profile.
    pub fn new(stacks: &BTreeMap<String, u64>) -> Places {
        let mut all = Places::default();
        for (stack, count) in stacks {
            let (place, function) = place(stack);
            if place == Place::User {
                *all.functions.entry(function.to_owned()).or_default() += count;
            }
            *all.places.entry(place).or_default() += count;
            all.samples += count;
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_sample_has_one_place() {
        for (stack, place, function) in [
            ("main;run;checksum", Place::User, "checksum"),
            (
                "main;__libc_sendto;entry_SYSCALL_64_[k];__x64_sys_sendto_[k];udp_sendmsg_[k];asm_sysvec_timer_[k]",
                Place::Call("sendto".to_owned()),
                "asm_sysvec_timer_[k]",
            ),
            ("main;asm_exc_page_fault_[k];do_user_addr_fault_[k]", Place::Fault, "do_user_addr_fault_[k]"),
            ("main;asm_sysvec_apic_timer_[k];irq_exit_[k]", Place::Interrupt, "irq_exit_[k]"),
            (
                "main;do_syscall_64_[k];ksys_write_[k];tcp_sendmsg_[k];do_softirq.part.0_[k]",
                Place::Call("write".to_owned()),
                "do_softirq.part.0_[k]",
            ),
            (
                "main;do_syscall_64_[k];do_epoll_wait_[k]",
                Place::Call("epoll_wait".to_owned()),
                "do_epoll_wait_[k]",
            ),
            ("main;do_syscall_64_[k];odd_[k];do_softirq_[k]", Place::Kernel, "do_softirq_[k]"),
            ("main;entry_SYSCALL_64_[k]", Place::Kernel, "entry_SYSCALL_64_[k]"),
            ("main;my__x64_sys_fake", Place::User, "my__x64_sys_fake"),
            ("", Place::User, ""),
        ] {
            assert_eq!(super::place(stack), (place, function), "{stack}");
        }
    }

    #[test]
    fn places_sum_to_the_samples() {
        let stacks = [("a;f", 3), ("b;f", 2), ("a;__x64_sys_read_[k]", 5)].map(|(s, n)| (s.to_owned(), n));
        let places = Places::new(&stacks.into());
        assert_eq!((places.samples, places.functions["f"]), (10, 5));
        assert_eq!(places.places.values().sum::<u64>(), 10);
        assert_eq!(places.places[&Place::Call("read".to_owned())], 5);
    }
}
