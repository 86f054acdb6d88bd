//! Assembles a rule set into an eBPF program of type `BPF_PROG_TYPE_CGROUP_DEVICE`.
//! May touch: values it is given.
//! Must not: load the program; `bpf` does.

use super::{Kind, Rule, RuleSet};

/// One instruction in the kernel's layout (`struct bpf_insn` of linux/bpf.h).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Insn {
    /// Operation code.
    code: u8,
    /// Destination register in the low half, source in the high one (little-endian machines).
    regs: u8,
    /// Offset of a jump or of memory.
    off: i16,
    /// Immediate operand.
    imm: i32,
}

#[cfg(target_endian = "big")]
compile_error!("the register halves of an eBPF instruction are swapped on big-endian machines");

const LDX_W: u8 = 0x61;
const MOV32_IMM: u8 = 0xb4;
const MOV32_REG: u8 = 0xbc;
const AND32_IMM: u8 = 0x54;
const RSH32_IMM: u8 = 0x74;
const JEQ32_IMM: u8 = 0x16;
const JNE32_IMM: u8 = 0x56;
const EXIT: u8 = 0x95;

/// Registers: result, context, scratch, and the three numbers asked for.
const RESULT: u8 = 0;
const CTX: u8 = 1;
const SCRATCH: u8 = 2;
const ACCESS: u8 = 3;
const KIND: u8 = 4;
const MAJOR: u8 = 5;
const MINOR: u8 = 6;

const fn insn(code: u8, dst: u8, src: u8, off: i16, imm: i32) -> Insn {
    let regs = (src << 4) | dst;
    Insn {
        code,
        regs,
        off,
        imm,
    }
}

/// The program for `rules`. Its context is `struct bpf_cgroup_dev_ctx`: kind in the low and
/// access in the high half of the first word, then major and minor. It answers 1 to allow.
pub fn assemble(rules: &RuleSet) -> Vec<Insn> {
    let mut code = vec![
        insn(LDX_W, KIND, CTX, 0, 0),
        insn(MOV32_REG, ACCESS, KIND, 0, 0),
        insn(AND32_IMM, KIND, 0, 0, 0xffff),
        insn(RSH32_IMM, ACCESS, 0, 0, 16),
        insn(LDX_W, MAJOR, CTX, 4, 0),
        insn(LDX_W, MINOR, CTX, 8, 0),
    ];
    // Denials come first in a rule set, so a matching one ends the program before any allowance.
    for rule in rules.rules() {
        code.extend(block(rule));
    }
    code.extend([insn(MOV32_IMM, RESULT, 0, 0, 0), insn(EXIT, 0, 0, 0, 0)]);
    code
}

/// One rule: tests that jump past the block when they fail, then the verdict.
fn block(rule: &Rule) -> Vec<Insn> {
    // linux/bpf.h: BPF_DEVCG_DEV_BLOCK 1, BPF_DEVCG_DEV_CHAR 2; a rule set holds no `All`.
    let kind = if rule.kind == Kind::Block { 1 } else { 2 };
    let mut tests = vec![insn(JNE32_IMM, KIND, 0, 0, kind)];
    let numbers = [(MAJOR, rule.major), (MINOR, rule.minor)];
    for (register, number) in numbers {
        if let Some(number) = number {
            tests.push(insn(JNE32_IMM, register, 0, 0, number.cast_signed()));
        }
    }
    let bits = i32::from(rule.access.bits());
    tests.push(insn(MOV32_REG, SCRATCH, ACCESS, 0, 0));
    if rule.allow {
        // Only when nothing beyond the rule's bits is asked.
        tests.push(insn(AND32_IMM, SCRATCH, 0, 0, !bits & 0xffff));
        tests.push(insn(JNE32_IMM, SCRATCH, 0, 0, 0));
    } else {
        // As soon as one of the rule's bits is asked.
        tests.push(insn(AND32_IMM, SCRATCH, 0, 0, bits));
        tests.push(insn(JEQ32_IMM, SCRATCH, 0, 0, 0));
    }
    let verdict = i32::from(rule.allow);
    let end = tests.len() + 2;
    for (at, test) in tests.iter_mut().enumerate() {
        if matches!(test.code, JEQ32_IMM | JNE32_IMM) {
            test.off = i16::try_from(end - at - 1).unwrap_or(i16::MAX);
        }
    }
    tests.extend([
        insn(MOV32_IMM, RESULT, 0, 0, verdict),
        insn(EXIT, 0, 0, 0, 0),
    ]);
    tests
}

/// The program as bytes, as a user-space machine or a file takes it.
pub fn bytes(code: &[Insn]) -> Vec<u8> {
    code.iter()
        .flat_map(|i| {
            let [code, regs] = [i.code, i.regs];
            let words = i.off.to_ne_bytes().into_iter().chain(i.imm.to_ne_bytes());
            [code, regs].into_iter().chain(words)
        })
        .collect()
}

#[cfg(test)]
#[path = "program_test.rs"]
mod tests;
