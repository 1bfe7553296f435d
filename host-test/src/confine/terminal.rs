//! Keeps a command from typing into its terminal.
//!
//! With `ioctl(TIOCSTI)`, a program can put input into its terminal, and the next reader, the agent program or the
//! person's shell, takes it for the person's input. Landlock does not control this on open descriptors, so a system call filter
//! refuses it.

use std::io;

use seccompiler::{BpfProgram, apply_filter, sock_filter};

/// The kernel's numbers for the architecture and for `ioctl`; 32-bit programs run on 64-bit kernels too.
#[cfg(target_arch = "x86_64")]
const SYSTEMS: &[(u32, &[u32])] = &[(0xC000_003E, &[16, 0x4000_0000 + 514]), (0x4000_0003, &[54])];
#[cfg(target_arch = "aarch64")]
const SYSTEMS: &[(u32, &[u32])] = &[(0xC000_00B7, &[29]), (0x4000_0028, &[54])];
#[cfg(target_arch = "riscv64")]
const SYSTEMS: &[(u32, &[u32])] = &[(0xC000_00F3, &[29])];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
const SYSTEMS: &[(u32, &[u32])] = &[];

/// Requests that type into a terminal: `TIOCSTI`, and `TIOCLINUX`, which pastes into a console.
const REQUESTS: [u32; 2] = [0x5412, 0x541C];

/// Instructions of the filter: load a word, compare, return.
const LOAD: u16 = 0x20;
const EQUAL: u16 = 0x15;
const RETURN: u16 = 0x06;

const ALLOW: u32 = 0x7FFF_0000;
/// Refuses with `EPERM`.
const REFUSE: u32 = 0x0005_0001;

/// The offsets of the words that are checked: the number of the call, the architecture, the lower half of the second argument.
const NUMBER: u32 = 0;
const SYSTEM: u32 = 4;
const REQUEST: u32 = if cfg!(target_endian = "big") { 28 } else { 24 };

fn filter() -> BpfProgram {
    let line = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    let mut program = Vec::new();
    for (system, numbers) in SYSTEMS {
        // If it is this architecture and one of these calls with one of these requests, refuse; otherwise continue with the next
        // architecture.
        let count = u8::try_from(numbers.len()).unwrap_or(u8::MAX);
        let body = 1 + count + 1 + 1 + 2 + 1 + 1;
        program.push(line(LOAD, 0, 0, SYSTEM));
        program.push(line(EQUAL, 0, body, *system));
        program.push(line(LOAD, 0, 0, NUMBER));
        for (nth, number) in numbers.iter().enumerate() {
            // Jumps to where the request is loaded, past the other numbers and the exit.
            let ahead = count - u8::try_from(nth).unwrap_or(u8::MAX);
            program.push(line(EQUAL, ahead, 0, *number));
        }
        program.push(line(RETURN, 0, 0, ALLOW));
        program.push(line(LOAD, 0, 0, REQUEST));
        let [type_in, paste] = REQUESTS;
        program.push(line(EQUAL, 2, 0, type_in));
        program.push(line(EQUAL, 1, 0, paste));
        program.push(line(RETURN, 0, 0, ALLOW));
        program.push(line(RETURN, 0, 0, REFUSE));
    }
    program.push(line(RETURN, 0, 0, ALLOW));
    program
}

/// Refuses typing into a terminal, for the calling thread and everything that it executes.
pub(super) fn protect() -> io::Result<()> {
    if SYSTEMS.is_empty() {
        return Ok(());
    }
    apply_filter(&filter()).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the filter like the kernel does.
    fn run(program: &BpfProgram, number: u32, system: u32, request: u32) -> u32 {
        let (mut at, mut word) = (0, 0);
        for _ in 0..1_000 {
            let line = &program[at];
            at += 1;
            match line.code {
                LOAD => {
                    word = match line.k {
                        NUMBER => number,
                        SYSTEM => system,
                        REQUEST => request,
                        other => panic!("loads {other}"),
                    }
                }
                EQUAL => at += usize::from(if word == line.k { line.jt } else { line.jf }),
                RETURN => return line.k,
                other => panic!("instruction {other}"),
            }
        }
        panic!("no end")
    }

    #[test]
    fn only_typing_is_refused() {
        let program = filter();
        for (system, numbers) in SYSTEMS {
            for number in *numbers {
                assert_eq!(run(&program, *number, *system, 0x5412), REFUSE);
                assert_eq!(run(&program, *number, *system, 0x541C), REFUSE);
                assert_eq!(run(&program, *number, *system, 0x5401), ALLOW);
                assert_eq!(run(&program, number + 1, *system, 0x5412), ALLOW);
            }
        }
        assert_eq!(run(&program, 16, 0xDEAD_BEEF, 0x5412), ALLOW);
    }
}
